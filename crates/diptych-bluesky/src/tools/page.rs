//! Long lists come in pieces. A service has its own cursor for the next page; ours also says how many records of a page
//! were left out because the answer would have been too large.

use super::invalid;
use diptych::ToolError;

/// The most posts on a page.
pub(crate) const MOST: u64 = 100;

/// Where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// How many records of the page were shown already.
    pub(crate) skip: usize,
    /// The service's own cursor for the page; empty for the first.
    pub(crate) page: String,
}

impl Cursor {
    /// Reads `12.abc`; nothing is the beginning.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, ToolError> {
        let Some(text) = text else { return Ok(Cursor::default()) };
        let parsed = text.split_once('.').and_then(|(skip, page)| {
            let skip = skip.parse::<usize>().ok().filter(|skip| *skip <= 1_000)?;
            is_plain(page).then(|| Cursor { skip, page: page.to_owned() })
        });
        parsed.ok_or_else(|| invalid("cursor", "must be one that an earlier answer gave"))
    }

    /// The cursor of the service's next page. One that is not plain text is none: it will not be shown.
    pub(crate) fn next(page: Option<&str>) -> Option<String> {
        page.filter(|page| !page.is_empty() && is_plain(page)).map(|page| format!("0.{page}"))
    }

    /// The cursor for the rest of this page.
    pub(crate) fn rest(&self, shown: usize) -> String {
        format!("{}.{}", self.skip + shown, self.page)
    }
}

/// Letters, digits and the like: nothing that could be mistaken for anything else.
fn is_plain(text: &str) -> bool {
    text.len() <= 1_000
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'`' | b'<' | b'>' | b'"' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_go_around() {
        let cursor = Cursor::parse(Some("3.2024-10-06T10:00:00.000Z::bafy")).unwrap();
        assert_eq!((cursor.skip, cursor.page.as_str()), (3, "2024-10-06T10:00:00.000Z::bafy"));
        assert_eq!(Cursor::parse(Some(&cursor.rest(2))).unwrap().skip, 5);
        assert_eq!(Cursor::parse(None).unwrap(), Cursor::default());
        assert_eq!(Cursor::next(Some("abc")).unwrap(), "0.abc");
        assert_eq!(Cursor::next(Some("a`b")), None);
        assert_eq!(Cursor::next(Some("a\nb")), None);
        for text in ["", "abc", "x.y", "-1.a", "99999.a", "0.a b"] {
            assert!(Cursor::parse(Some(text)).is_err(), "{text}");
        }
    }
}
