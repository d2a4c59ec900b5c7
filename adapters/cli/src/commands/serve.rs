//! `toolgate serve`: the gate before the sources of tools that a file names.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use toolgate_axum::native;
use toolgate_axum::native::Settings;
use toolgate_axum::server::MetricsAccess;
use toolgate_axum::sqlite::Durability;
use toolgate_core::key::LEAST_CHOSEN_TOKEN;
use toolgate_core::key::OperatorToken;

use super::running;
use super::running::Running;
use crate::config;
use crate::config::Config;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::plain;
use crate::words;

/// The variable that holds the first owner's token.
const ADMIN_VARIABLE: &str = "TOOLGATE_ADMIN_TOKEN";
/// The variable that allows plain HTTP upstreams on this machine.
const INSECURE_VARIABLE: &str = "TOOLGATE_ALLOW_INSECURE";
/// The name of the owner whose token is in the environment.
const OWNER: &str = "env";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example:
  export TOOLGATE_ADMIN_TOKEN=\"$(openssl rand -hex 24)\"
  toolgate serve -c toolgate.toml

SIGTERM and SIGINT end it; SIGHUP, as `toolgate reload`, has it read the file again.")]
pub(crate) struct Args {
    /// The configuration; `toolgate init` writes one
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// Listen here instead
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Keep everything here instead
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Args {
    fn load(&self) -> Result<Config, Failure> {
        let mut config = config::load(&self.config)?;
        if let Some(listen) = self.listen {
            if !listen.ip().is_loopback() && config.public_url.is_none() {
                let message = "`--listen` reaches beyond this machine: `publicUrl` must say by \
                               which address";
                return Err(Failure::usage(message));
            }
            config.listen = listen;
        }
        if let Some(data) = &self.data {
            config.data = words::absolute(data)?;
        }
        Ok(config)
    }
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let config = args.load()?;
    let file = config::place(&args.config)?;
    let token = admin_token()?;
    running::start_logs()?;
    let durability = if config.relaxed {
        Durability::Relaxed
    } else {
        Durability::Strict
    };
    if native::is_demo(&config.data) {
        let data = config.data.display();
        return Err(Failure::usage(format!(
            "{data}: this is the data of a demo"
        )));
    }
    let native = running::open(&config.data, durability)?;
    let native = Arc::new(native);
    let settings = settings(&config, &token)?;
    let running =
        Running::start(Arc::clone(&native), &settings, config.listen, Some(&file)).await?;
    let url = running.url()?;
    let data = config.data.display().to_string();
    out.answer(&json!({"url": url, "data": data}), || {
        vec![
            format!("toolgate serves on {url}"),
            format!("what it keeps is in {}", plain(&data)),
        ]
    })?;
    running
        .serve(|| {
            let fresh = args.load()?;
            let fixed = fixed(&config, &fresh);
            if fixed.is_empty() {
                return self::settings(&fresh, &token);
            }
            let fixed = fixed.join(", ");
            Err(Failure::refused(format!(
                "{fixed} cannot change without a restart; nothing was changed"
            )))
        })
        .await
}

/// The keys that differ and can only be read at a start.
fn fixed(old: &Config, new: &Config) -> Vec<&'static str> {
    let mut keys = Vec::new();
    if old.listen != new.listen {
        keys.push("`listen`");
    }
    if old.data != new.data {
        keys.push("`data`");
    }
    if old.relaxed != new.relaxed {
        keys.push("`durability`");
    }
    keys
}

fn settings(config: &Config, token: &str) -> Result<Settings, Failure> {
    let mut settings = Settings::new(running::owner(OWNER, token)?);
    settings.connectors.clone_from(&config.connectors);
    settings.insecure = insecure()?;
    settings.public_url.clone_from(&config.public_url);
    settings.access = match (&config.metrics_token, &config.public_url) {
        (Some(token), _) => MetricsAccess::token(token).unwrap_or(MetricsAccess::Nobody),
        // Before a proxy everybody seems to be on this machine.
        (None, Some(_)) => MetricsAccess::Nobody,
        (None, None) => MetricsAccess::Loopback,
    };
    Ok(settings)
}

/// Whether the variable that lets the gate reach this machine over plain HTTP says so.
fn insecure() -> Result<bool, Failure> {
    let word = std::env::var(INSECURE_VARIABLE).unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        "" | "0" | "false" => Ok(false),
        "1" | "true" => {
            tracing::warn!("a safeguard is off: {INSECURE_VARIABLE} is set");
            Ok(true)
        }
        _ => Err(Failure::usage(format!(
            "`{INSECURE_VARIABLE}` is `true` or `false`"
        ))),
    }
}

fn admin_token() -> Result<String, Failure> {
    let token = std::env::var(ADMIN_VARIABLE).unwrap_or_default();
    if OperatorToken::chosen(&token).is_some() {
        Ok(token)
    } else {
        Err(Failure::usage(format!(
            "`{ADMIN_VARIABLE}` must hold the first owner's token, {LEAST_CHOSEN_TOKEN} or more \
             letters, digits and `-._~+/=`"
        )))
    }
}
