// The conformance runner sends no key: this adds one, and hands everything else on as it came.
//
// It prints its address and serves until its standard input ends.

import { createServer, request } from "node:http";
import { pipeline } from "node:stream";

const gate = new URL(need("TOOLGATE_URL"));
const key = need("TOOLGATE_AGENT_KEY");

const server = createServer((incoming, answer) => {
  const { pathname, search } = new URL(incoming.url, gate);
  const onward = request({
    hostname: gate.hostname,
    port: gate.port,
    method: incoming.method,
    path: pathname + search,
    // The raw list keeps the runner's Host, doubled headers and their order.
    headers: [...incoming.rawHeaders, "Authorization", `Bearer ${key}`],
    setHost: false,
  });
  onward.on("response", (response) => {
    answer.writeHead(response.statusCode, response.rawHeaders);
    pipeline(response, answer, () => {});
  });
  onward.on("error", (error) => {
    if (!answer.headersSent) answer.writeHead(502);
    answer.end(`${error.message}\n`);
  });
  answer.on("close", () => onward.destroy());
  pipeline(incoming, onward, () => {});
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on("end", () => process.exit(0));

function need(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}
