//! Phrases that give orders to a model, as sequences of words.

use super::{RuleId, find};

/// A phrase: one of `first`, then every step in turn, within one sentence.
#[derive(Debug)]
pub(crate) struct Phrase {
    pub(crate) rule: RuleId,
    pub(crate) first: &'static [&'static str],
    pub(crate) then: &'static [Step],
}

/// A step of a phrase.
#[derive(Debug)]
pub(crate) enum Step {
    /// One of the words, after at most so many others.
    Within(usize, &'static [&'static str]),
    /// A word that looks like the name of a tool, after at most so many others.
    Name(usize),
    /// A web or mail address, after at most so many words.
    Address(usize),
}

use Step::{Address, Name, Within};

const fn phrase(id: &str, first: &'static [&'static str], then: &'static [Step]) -> Phrase {
    Phrase {
        rule: find(id),
        first,
        then,
    }
}

const IGNORE: &[&str] = &[
    "ignore",
    "ignoring",
    "disregard",
    "disregarding",
    "forget",
    "override",
    "bypass",
    "neglect",
    "discard",
];
const PRIOR: &[&str] = &[
    "previous",
    "previously",
    "prior",
    "above",
    "earlier",
    "preceding",
    "past",
    "foregoing",
    "original",
    "initial",
    "existing",
    "system",
    "former",
    "current",
    "safety",
    "your",
];
const ORDERS: &[&str] = &[
    "instruction",
    "instructions",
    "directions",
    "directive",
    "directives",
    "guideline",
    "guidelines",
    "prompt",
    "prompts",
    "rules",
    "commands",
    "orders",
    "constraints",
    "restrictions",
    "programming",
];
const SENSITIVE: &[&str] = &[
    "list",
    "data",
    "database",
    "credentials",
    "password",
    "passwords",
    "secret",
    "secrets",
    "key",
    "keys",
    "token",
    "tokens",
    "contents",
    "conversation",
    "history",
    "transcript",
    "records",
    "files",
    "file",
    "details",
    "everything",
    "emails",
    "messages",
    "cookies",
    "environment",
    "information",
];

pub(crate) static PHRASES: &[Phrase] = &[
    phrase(
        "override-instructions",
        IGNORE,
        &[Within(3, PRIOR), Within(2, ORDERS)],
    ),
    phrase(
        "override-instructions",
        IGNORE,
        &[
            Within(2, ORDERS),
            Within(
                2,
                &["above", "before", "given", "previously", "prior", "earlier"],
            ),
        ],
    ),
    phrase(
        "override-instructions",
        &["ignore", "disregard", "forget"],
        &[
            Within(1, &["everything", "anything", "all", "what"]),
            Within(
                4,
                &[
                    "above",
                    "before",
                    "previously",
                    "told",
                    "instructed",
                    "prior",
                ],
            ),
        ],
    ),
    phrase(
        "override-instructions",
        &["not", "don't", "stop", "never", "cease"],
        &[
            Within(1, &["follow", "following", "obey", "obeying", "adhere"]),
            Within(
                3,
                &[
                    "previous", "prior", "above", "earlier", "original", "system", "your",
                ],
            ),
            Within(2, ORDERS),
        ],
    ),
    phrase(
        "role-change",
        &["you"],
        &[
            Within(0, &["are"]),
            Within(0, &["now"]),
            Within(
                0,
                &[
                    "dan",
                    "unrestricted",
                    "jailbroken",
                    "unfiltered",
                    "uncensored",
                    "root",
                    "admin",
                ],
            ),
        ],
    ),
    phrase(
        "role-change",
        &["you"],
        &[
            Within(0, &["are"]),
            Within(0, &["now"]),
            Within(
                0,
                &[
                    "a", "an", "my", "our", "acting", "playing", "called", "named",
                ],
            ),
            Within(
                3,
                &[
                    "ai",
                    "assistant",
                    "bot",
                    "chatbot",
                    "model",
                    "persona",
                    "character",
                    "dan",
                    "unrestricted",
                    "jailbroken",
                    "unfiltered",
                    "hacker",
                    "root",
                    "admin",
                    "administrator",
                    "superuser",
                ],
            ),
        ],
    ),
    phrase(
        "role-change",
        &["from"],
        &[
            Within(0, &["now"]),
            Within(0, &["on"]),
            Within(1, &["you"]),
            Within(
                1,
                &[
                    "are", "act", "behave", "pretend", "respond", "answer", "obey",
                ],
            ),
        ],
    ),
    phrase(
        "role-change",
        &["pretend", "pretending", "act", "roleplay", "behave"],
        &[
            Within(2, &["you", "as", "be"]),
            Within(
                5,
                &[
                    "unrestricted",
                    "jailbroken",
                    "unfiltered",
                    "dan",
                    "restrictions",
                    "filters",
                    "ai",
                    "uncensored",
                ],
            ),
        ],
    ),
    phrase(
        "role-change",
        &["enter", "enable", "activate", "switch"],
        &[
            Within(
                2,
                &[
                    "developer",
                    "dan",
                    "god",
                    "jailbreak",
                    "unrestricted",
                    "sudo",
                ],
            ),
            Within(0, &["mode"]),
        ],
    ),
    phrase(
        "call-a-tool",
        &["call", "invoke", "use", "run", "execute", "trigger"],
        &[Within(1, &["tool", "tools"]), Name(1)],
    ),
    phrase(
        "call-a-tool",
        &["call", "invoke", "use", "run", "execute", "trigger"],
        &[
            Name(1),
            Within(0, &["tool"]),
            Within(1, &["with", "to", "and", "now", "immediately", "on"]),
        ],
    ),
    phrase(
        "call-a-tool",
        &["call", "invoke", "execute"],
        &[
            Within(1, &["function"]),
            Name(1),
            Within(1, &["with"]),
            Within(1, &["arguments", "parameters", "args", "name"]),
        ],
    ),
    phrase(
        "send-data",
        &[
            "send",
            "post",
            "upload",
            "forward",
            "exfiltrate",
            "transmit",
            "leak",
            "submit",
            "email",
            "mail",
            "copy",
            "share",
            "deliver",
        ],
        &[Within(6, SENSITIVE), Within(4, &["to", "at"]), Address(3)],
    ),
];

/// Control words of chat templates. None of them occurs in prose.
pub(crate) static MARKUP: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|im_sep|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|end_of_turn|>",
    "<|channel|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[inst]",
    "[/inst]",
    "[system_prompt]",
    "[/system_prompt]",
    "[available_tools]",
    "[tool_calls]",
    "<<sys>>",
    "<</sys>>",
    "### instruction:",
    "### system:",
    "\n\nhuman:",
    "\n\nassistant:",
    "</tool_result>",
    "<function_calls>",
];
