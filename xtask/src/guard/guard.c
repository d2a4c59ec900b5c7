/* Keeps a process from the internet, and writes down what it wanted there.
 *
 * Loaded before the C library (LD_PRELOAD). Names other than this machine's do not resolve, and
 * addresses other than this machine's cannot be reached; each attempt is a line in the file that
 * TOOLGATE_GUARD names. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(const char *what) {
  const char *path = getenv("TOOLGATE_GUARD");
  if (!path) return;
  char line[512];
  int length = snprintf(line, sizeof line, "%.255s, by %.127s\n", what, program_invocation_short_name);
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, line, (size_t)length) != length) abort();
  close(file);
}

static int is_here_v4(const struct in_addr *address) {
  unsigned host = ntohl(address->s_addr);
  return host >> 24 == 127 || host == 0;
}

static int is_here_v6(const struct in6_addr *address) {
  if (IN6_IS_ADDR_V4MAPPED(address)) {
    struct in_addr inner;
    memcpy(&inner, &address->s6_addr[12], sizeof inner);
    return is_here_v4(&inner);
  }
  return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address);
}

/* Whether the address is this machine's; writes it down if it is not. */
static int is_here(const struct sockaddr *address, socklen_t length) {
  char host[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 16];
  unsigned port = 0;
  if (!address) return 1;
  if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
    const struct sockaddr_in *v4 = (const void *)address;
    if (is_here_v4(&v4->sin_addr)) return 1;
    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    port = ntohs(v4->sin_port);
    snprintf(text, sizeof text, "%s:%u", host, port);
  } else if (address->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
    const struct sockaddr_in6 *v6 = (const void *)address;
    if (is_here_v6(&v6->sin6_addr)) return 1;
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    port = ntohs(v6->sin6_port);
    snprintf(text, sizeof text, "[%s]:%u", host, port);
  } else {
    return 1;
  }
  note(text);
  return 0;
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
  static int (*next)(int, const struct sockaddr *, socklen_t);
  if (!is_here(address, length)) {
    errno = ENETUNREACH;
    return -1;
  }
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "connect");
  return next(socket, address, length);
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t length) {
  static ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
  if (!is_here(address, length)) {
    errno = ENETUNREACH;
    return -1;
  }
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "sendto");
  return next(socket, data, size, flags, address, length);
}

/* Whether looking the name up asks nobody else. */
static int is_local(const char *name) {
  unsigned char parsed[sizeof(struct in6_addr)];
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  return !name || !*name || !strcasecmp(name, "localhost") || !strcasecmp(name, own) ||
         strchr(name, '%') || inet_pton(AF_INET, name, parsed) == 1 ||
         inet_pton(AF_INET6, name, parsed) == 1;
}

int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict found) {
  static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!is_local(name)) {
    char text[320];
    snprintf(text, sizeof text, "%.255s%s%.31s", name, service ? ":" : "", service ? service : "");
    note(text);
    return EAI_FAIL;
  }
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
  return next(name, service, hints, found);
}
