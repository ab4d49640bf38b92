//! The spelling of URIs: which characters they may have, and what escapes stand for.
//!
//! By hand, because a broken escape must be refused here, where the usual crate passes it through.

/// Whether a string can be the URI of a resource.
///
/// # Errors
/// A sentence that says what is wrong and how to mend it.
pub(crate) fn valid_uri(uri: &str) -> Result<(), String> {
    let invalid = |problem: &str| Err(format!("The URI `{}` is not valid: {problem}", uri.escape_debug()));
    if uri.contains(['{', '}']) {
        return invalid("it has braces. Register it as a template, or write `%7B` and `%7D`.");
    }
    if let Some(character) = uri.chars().find(|&character| !is_legal(character)) {
        return invalid(&illegal_character(character));
    }
    if normalised(uri).is_none() {
        return invalid(BROKEN_ESCAPE);
    }
    match scheme_of(uri) {
        None => invalid("it does not begin with a scheme. Begin it with one, as in `notes://today`."),
        Some(scheme) if uri.len() == scheme.len() + 1 => {
            invalid("nothing follows the scheme. Say what it names, as in `notes://today`.")
        }
        Some(_) => Ok(()),
    }
}

pub(super) const BROKEN_ESCAPE: &str =
    "a `%` is not followed by two hexadecimal digits. Write `%25` for a percent sign that is meant as such.";

pub(super) fn illegal_character(character: char) -> String {
    let mut escape = String::new();
    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
        push_byte(&mut escape, byte, false);
    }
    match character {
        ' ' => format!("it has a space. Write `{escape}` instead."),
        _ if character.is_control() => "it has a control character. Leave it out.".to_owned(),
        _ => format!("it has the character `{character}`. Write `{escape}` instead."),
    }
}

/// The scheme that a URI begins with.
pub(super) fn scheme_of(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(scheme)
}

pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Whether a URI may have this character as such.
pub(super) fn is_legal(character: char) -> bool {
    u8::try_from(character).is_ok_and(|byte| is_unreserved(byte) || b"%:/?#[]@!$&'()*+,;=".contains(&byte))
}

/// The one spelling that URIs are compared in: ASCII, escapes in capitals. Lenient towards characters that
/// should have been escaped, since people and models write them; `None` if an escape is broken.
pub(super) fn normalised(uri: &str) -> Option<String> {
    let mut normal = String::with_capacity(uri.len());
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            push_byte(&mut normal, escaped_byte(bytes.next()?, bytes.next()?)?, false);
        } else {
            push_byte(&mut normal, byte, is_legal(char::from(byte)));
        }
    }
    Some(normal)
}

/// What the escapes of a normalised text stand for; `None` unless it is UTF-8.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'%' { escaped_byte(bytes.next()?, bytes.next()?)? } else { byte });
    }
    String::from_utf8(plain).ok()
}

fn escaped_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

pub(super) fn push_byte(uri: &mut String, byte: u8, as_it_is: bool) {
    if as_it_is {
        uri.push(char::from(byte));
    } else {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        uri.push('%');
        uri.push(char::from(DIGITS[usize::from(byte >> 4)]));
        uri.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}
