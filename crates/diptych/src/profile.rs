//! What is known about particular clients.
//!
//! Some clients show people the structured panel instead of the Markdown, or send both to the model and
//! pay twice. Those get no structured panel, and no output schema either: one without the other breaks
//! strict clients. A line below needs evidence.

/// Whether results carry the structured panel (`structuredContent`), and tools their `outputSchema`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Structured {
    /// As the client takes it best: always, except for the clients known to be worse off with it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Clients that are better off without the structured panel, by the name they give themselves, each with
/// the evidence.
const WITHOUT_STRUCTURED: &[(&str, &str)] = &[
    (
        "claude-code",
        "drops the text of a result when structuredContent is present: anthropics/claude-code#55677, #45575; \
         mended by removing structured content in AeternaLabsHQ/pullmd#1. Its name: screenpipe/screenpipe#5796",
    ),
    (
        "github-copilot-developer",
        "the Copilot CLI forwarded only structuredContent (github/copilot-cli#3258), later both, paying twice \
         (#4515). Its name: github/copilot-cli#1268",
    ),
];

impl Structured {
    /// Decides for a client.
    pub(crate) fn for_client(self, name: &str) -> Structured {
        match self {
            Structured::Auto
                if WITHOUT_STRUCTURED.iter().any(|(client, _)| client.eq_ignore_ascii_case(name)) =>
            {
                Structured::Never
            }
            Structured::Auto => Structured::Always,
            decided => decided,
        }
    }

    pub(crate) fn is_sent(self) -> bool {
        self != Structured::Never
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_spares_the_clients_of_the_table() {
        assert_eq!(Structured::Auto.for_client("Claude-Code"), Structured::Never);
        assert_eq!(Structured::Auto.for_client("inspector"), Structured::Always);
        assert_eq!(Structured::Always.for_client("claude-code"), Structured::Always);
        assert!(WITHOUT_STRUCTURED.iter().all(|(_, evidence)| evidence.contains('#')));
    }
}
