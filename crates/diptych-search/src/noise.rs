//! Words that a question is made of but that say nothing about what is looked for.
//!
//! They are only ever taken out of queries, never out of documents, and never out of a name: the `all`
//! of `Effect.all` and of `effect-all` stays. One such word alone is searched as it is, for it
//! may be such a name; a query of several and nothing else finds nothing.

/// Whether a lower-case word carries no meaning of its own in a question.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether a lower-case word carries little: it may decide between two documents, never find one.
pub(crate) fn is_weak_word(word: &str) -> bool {
    // A lone letter is a type parameter or an article of another language.
    word.len() == 1 || WEAK_WORDS.binary_search(&word).is_ok()
}

/// Every stop word, for telling a misspelt one from a misspelt word of the documents.
pub(crate) fn stop_words() -> &'static [&'static str] {
    STOP_WORDS
}

#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "am", "an", "and", "any", "are", "arent", "as", "at", "be",
    "because", "been", "before", "being", "between", "both", "but", "by", "can", "cannot", "cant",
    "could", "couldnt", "did", "didnt", "do", "does", "doesnt", "doing", "done", "dont", "down", "during",
    "each", "etc", "every", "few", "for", "from", "further", "had", "has", "have", "having", "he", "her",
    "here", "him", "his", "how", "i", "id", "if", "ill", "im", "in", "into", "is", "isnt", "it", "its",
    "itself", "ive", "just", "may", "me", "might", "more", "most", "must", "my", "myself", "no", "nor",
    "not", "of", "off", "on", "once", "one", "only", "or", "other", "our", "out", "over", "own", "same",
    "shall", "she", "should", "shouldnt", "so", "some", "such", "than", "that", "thats", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until",
    "up", "us", "versus", "very", "via", "vs", "was", "wasnt", "we", "were", "what", "whats", "when",
    "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within",
    "without", "wont", "would", "you", "your",
];

#[rustfmt::skip]
const WEAK_WORDS: &[&str] = &[
    "able", "achieve", "actually", "already", "also", "always", "another", "anything", "approach",
    "avoid", "best", "better", "bit", "code", "correct", "correctly", "difference", "different", "easily",
    "easy", "ensure", "even", "ever", "everything", "example", "find", "get", "gets", "getting", "give",
    "given", "gives", "go", "goes", "going", "good", "happen", "happens", "help", "implement",
    "implementing", "instead", "keep", "kind", "kinds", "know", "let", "like", "lot", "made", "make",
    "makes", "making", "many", "much", "need", "needed", "needs", "never", "nice", "now", "part",
    "particular", "pattern", "patterns", "perform", "please", "possible", "practice", "proper",
    "properly", "put", "really", "recommended", "right", "safe", "safely", "say", "set", "show", "simple",
    "simply", "something", "specific", "still", "stuff", "sure", "take", "takes", "tell", "thing",
    "things", "two", "understand", "use", "used", "uses", "using", "want", "wants", "way", "ways", "well",
    "work", "working", "works", "write", "writing",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(WEAK_WORDS.is_sorted());
    }
}
