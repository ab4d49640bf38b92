//! Templates written forwards and read backwards, and the sentences about faulty ones.

use proptest::prelude::*;

use super::*;

fn template(source: &str) -> UriTemplate {
    UriTemplate::parse(source).unwrap()
}

/// The values as `name=value`, joined by `, `; `-` for no match.
fn check(source: &str, uri: &str, expected: &str) {
    let template = template(source);
    let found = template.matches(uri).map(|values| {
        values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    });
    assert_eq!(found.as_deref().unwrap_or("-"), expected, "{source} against {uri}");
}

#[test]
fn path_variables_match_one_segment() {
    check("https://api.example.com/users/{id}", "https://api.example.com/users/123", "id=123");
    check("notes://{book}/{page}", "notes://trip/7", "book=trip, page=7");
    check("notes:{page}.md", "notes:a.md.md", "page=a.md");
    check("notes://{page}", "notes://a/b", "-");
    check("notes://{page}", "notes://a?b", "-");
    check("notes://{page}", "notes://a#b", "-");
    check("notes://{page}", "notes://", "-");
    check("notes://{page}/x", "notes:///x", "-");
    check("notes://{page}/x", "notes://a/xy", "-");
    check("notes://{page}", "other://a", "-");
    check("notes://all", "notes://all", "");
    check("notes://all", "notes://all/", "-");
}

#[test]
fn values_are_decoded_and_must_be_text() {
    check("notes://{page}", "notes://a%2Fb%3f%20%C3%a9", "page=a/b? é");
    check("notes://{page}", "notes://crème brûlée", "page=crème brûlée");
    check("notes://café/{page}", "notes://caf%c3%a9/1", "page=1");
    check("notes://caf%c3%a9/{page}", "notes://café/1", "page=1");
    check("notes://{page}", "notes://%FF", "-");
    check("notes://{page}", "notes://%C3", "-");
    check("notes://{page}", "notes://100%", "-");
    check("notes://{page}", "notes://%zz", "-");
    check("notes://{page}", "notes://%+1", "-");
    check("notes://{page}20", "notes://a%20", "-");
    check("notes://{page}20", "notes://a%2020", "page=a ");
}

#[test]
fn query_variables_come_in_any_order_or_not_at_all() {
    let source = "notes://{book}{?page,word}";
    check(source, "notes://trip", "book=trip");
    check(source, "notes://trip?", "book=trip");
    check(source, "notes://trip?word=a%26b&page=2", "book=trip, page=2, word=a&b");
    check(source, "notes://trip?page=2&utm=x&page=3", "book=trip, page=2");
    check(source, "notes://trip?page=&word", "book=trip, page=, word=");
    check(source, "notes://trip?p%61ge=a+b=c", "book=trip, page=a+b=c");
    check(source, "notes://trip?utm=%FF&page=1", "book=trip, page=1");
    check(source, "notes://trip?page=%FF", "-");
    check(source, "notes://trip?page=1#top", "-");
    check(source, "notes://trip/?page=1", "-");
    check("notes://all{?page}", "notes://all?page=4", "page=4");
    check("notes://all?page={page}", "notes://all?page=4", "page=4");
}

#[test]
fn a_repeated_separator_leaves_the_earlier_variable_the_least() {
    check("notes://{name}.{kind}", "notes://archive.tar.gz", "name=archive, kind=tar.gz");
    check("notes://{a}2{b}", "notes://%20x2y", "a= x, b=y");
    check("notes://{a}-{b}", "notes://--x", "a=-, b=x");
    check("notes://{a}:{b}:{c}", "notes://1:2:3:4", "a=1, b=2, c=3:4");
    check("notes://{a}:{b}:{c}", "notes://1:2", "-");
}

#[test]
fn expansion_encodes_all_but_unreserved_characters() {
    let other = template("notes://café/{a}");
    let template = template("notes://{book}/p{?page,word}");
    assert_eq!(template.expand(&[("book", "a-b_c.d~9")]), "notes://a-b_c.d~9/p");
    assert_eq!(
        template.expand(&[("word", "x&y=z"), ("book", "é /?#%"), ("page", ""), ("other", "1")]),
        "notes://%C3%A9%20%2F%3F%23%25/p?page=&word=x%26y%3Dz"
    );
    assert_eq!(template.expand::<&str, &str>(&[]), "notes:///p");
    assert_eq!(other.expand(&[("a", "1")]), "notes://caf%C3%A9/1");
}

#[test]
fn the_variables_are_known() {
    let template = template("notes://{book.id}{?page_2}");
    let variables: Vec<_> =
        template.variables().iter().map(|variable| (variable.name.as_str(), variable.query)).collect();
    assert_eq!(variables, [("book.id", false), ("page_2", true)]);
    assert_eq!(template.to_string(), template.as_str());
}

#[test]
fn the_most_literal_template_wins() {
    let uri = "notes://trip/index";
    let mut sources = ["notes://{a}/{b}", "notes://trip/{b}{?q}", "notes://trip/{b}", "notes://trip/index"];
    assert!(sources.iter().all(|source| template(source).matches(uri).is_some()));
    sources.sort_by_key(|source| template(source).specificity());
    assert_eq!(
        sources,
        ["notes://{a}/{b}", "notes://trip/{b}{?q}", "notes://trip/{b}", "notes://trip/index"]
    );
}

#[test]
fn faulty_templates_say_how_to_mend_them() {
    let sentences: Vec<_> = [
        "notes://{id",
        "notes://{a{b}}",
        "notes://id}",
        "notes://{}",
        "notes://{?}",
        "notes://{?a,}",
        "notes://{a b}",
        "notes://{a.}",
        "notes://{é}",
        "notes://{id}/{id}",
        "notes://{id}{?id}",
        "notes://{+path}",
        "notes://a{&b}",
        "notes://{a,b}",
        "notes://{a:3}",
        "notes://a{?b*}",
        "notes://{a}{b}",
        "notes://{a}%2F{b}",
        "notes://a{?b}/c",
        "notes://a{?b}{?c}",
        "notes://a?b=1{?c}",
        "notes://a#b{?c}",
        "notes://a b/{c}",
        "notes://a%/{c}",
        "notes/{id}",
        "{scheme}://a",
        "",
    ]
    .into_iter()
    .map(|source| UriTemplate::parse(source).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(sentences.join("\n"), @r#"
    The URI template `notes://{id` has a `{` without its `}`. Close it, or write `%7B` for a brace that is meant as such.
    The URI template `notes://{a{b}}` has a `{` without its `}`. Close it, or write `%7B` for a brace that is meant as such.
    The URI template `notes://id}` has a `}` without its `{`. Open it, or write `%7D` for a brace that is meant as such.
    The URI template `notes://{}` has a variable without a name. Write a name between the braces.
    The URI template `notes://{?}` has a variable without a name. Write a name between the braces.
    The URI template `notes://{?a,}` has a variable without a name. Write a name between the braces.
    `a b` in the URI template `notes://{a b}` is not a variable name. Use letters, digits and `_`, with `.` only between them.
    `a.` in the URI template `notes://{a.}` is not a variable name. Use letters, digits and `_`, with `.` only between them.
    `é` in the URI template `notes://{é}` is not a variable name. Use letters, digits and `_`, with `.` only between them.
    The URI template `notes://{id}/{id}` has the variable `id` twice. Give each its own name.
    The URI template `notes://{id}{?id}` has the variable `id` twice. Give each its own name.
    `{+path}` in the URI template `notes://{+path}` uses a form that cannot be matched. Use `{name}`, one name in each, or `{?name,name}` at the end.
    `{&b}` in the URI template `notes://a{&b}` uses a form that cannot be matched. Use `{name}`, one name in each, or `{?name,name}` at the end.
    `{a,b}` in the URI template `notes://{a,b}` uses a form that cannot be matched. Use `{name}`, one name in each, or `{?name,name}` at the end.
    `{a:3}` in the URI template `notes://{a:3}` uses a form that cannot be matched. Use `{name}`, one name in each, or `{?name,name}` at the end.
    `{?b*}` in the URI template `notes://a{?b*}` uses a form that cannot be matched. Use `{name}`, one name in each, or `{?name,name}` at the end.
    Nothing in the URI template `notes://{a}{b}` tells where `a` ends and `b` begins. Put a plain character between them, as in `{a}/{b}`.
    Nothing in the URI template `notes://{a}%2F{b}` tells where `a` ends and `b` begins. Put a plain character between them, as in `{a}/{b}`.
    The URI template `notes://a{?b}/c` goes on after `{?…}`. Move the query form to the end, and all its names into one.
    The URI template `notes://a{?b}{?c}` goes on after `{?…}`. Move the query form to the end, and all its names into one.
    The URI template `notes://a?b=1{?c}` has a `?` or `#` before `{?…}`, which writes its own. Name all parameters in the query form.
    The URI template `notes://a#b{?c}` has a `?` or `#` before `{?…}`, which writes its own. Name all parameters in the query form.
    The URI template `notes://a b/{c}` is not valid: it has a space. Write `%20` instead.
    The URI template `notes://a%/{c}` is not valid: a `%` is not followed by two hexadecimal digits. Write `%25` for a percent sign that is meant as such.
    The URI template `notes/{id}` does not begin with a scheme. Begin it with one that is not a variable, as in `notes://{id}`.
    The URI template `{scheme}://a` does not begin with a scheme. Begin it with one that is not a variable, as in `notes://{id}`.
    The URI template `` does not begin with a scheme. Begin it with one that is not a variable, as in `notes://{id}`.
    "#);
}

#[test]
fn faulty_uris_say_how_to_mend_them() {
    for good in ["file:///app/config.json", "notes://today?x=%20#top", "urn:isbn:123", "a+b-c.1:x"] {
        assert_eq!(valid_uri(good), Ok(()));
    }
    let sentences: Vec<_> = [
        "",
        "config.json",
        "/app/config.json",
        "://x",
        "1a://x",
        "notes:",
        "notes://a b",
        "notes://a\nb",
        "notes://\u{7f}",
        "notes://café",
        "notes://a\"b",
        "notes://100%",
        "notes://{id}",
    ]
    .into_iter()
    .map(|uri| valid_uri(uri).unwrap_err())
    .collect();
    insta::assert_snapshot!(sentences.join("\n"), @r#"
    The URI `` is not valid: it does not begin with a scheme. Begin it with one, as in `notes://today`.
    The URI `config.json` is not valid: it does not begin with a scheme. Begin it with one, as in `notes://today`.
    The URI `/app/config.json` is not valid: it does not begin with a scheme. Begin it with one, as in `notes://today`.
    The URI `://x` is not valid: it does not begin with a scheme. Begin it with one, as in `notes://today`.
    The URI `1a://x` is not valid: it does not begin with a scheme. Begin it with one, as in `notes://today`.
    The URI `notes:` is not valid: nothing follows the scheme. Say what it names, as in `notes://today`.
    The URI `notes://a b` is not valid: it has a space. Write `%20` instead.
    The URI `notes://a\nb` is not valid: it has a control character. Leave it out.
    The URI `notes://\u{7f}` is not valid: it has a control character. Leave it out.
    The URI `notes://café` is not valid: it has the character `é`. Write `%C3%A9` instead.
    The URI `notes://a\"b` is not valid: it has the character `"`. Write `%22` instead.
    The URI `notes://100%` is not valid: a `%` is not followed by two hexadecimal digits. Write `%25` for a percent sign that is meant as such.
    The URI `notes://{id}` is not valid: it has braces. Register it as a template, or write `%7B` and `%7D`.
    "#);
}

/// Separators of every sort: reserved, plain, hexadecimal digits, with escapes.
const SHAPES: [&str; 10] = [
    "notes://{a}/{b}/{c}{?d,e}",
    "notes://{a}.{b}-{c}.md{?d,e}",
    "notes://{a}2{b}20{c}20{?d,e}",
    "notes://{a}tt{b}aab{c}{?d,e}",
    "notes://{a}é-{b}%2Fx{c}é{?d,e}",
    "notes://{a}:{b}::{c}:{?d,e}",
    "notes:{a}x/x{b}/x/{c}/{?d,e}",
    "notes://{a}&{b}=a={c}=a{?d,e}",
    "notes://x?q={a}&r={b}#{c}%41",
    "notes://{a}~{b}%7Ez%7E{c}~",
];

/// Values that are likely to be mistaken for a separator or an escape, and any others.
fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[-.~20taxz:&=/?#%é]{1,6}", "(%2F|%|tt|20|é|é-|::|x/x){1,4}", "\\PC{1,8}", any::<String>()]
}

proptest! {
    #[test]
    fn what_is_expanded_is_matched(
        shape in 0..SHAPES.len(),
        path in prop::array::uniform3(value().prop_filter("never empty", |value| !value.is_empty())),
        query in prop::array::uniform2(prop::option::of(value())),
    ) {
        let template = template(SHAPES[shape]);
        let mut values: Vec<_> = ["a", "b", "c"].into_iter().zip(path).collect();
        if template.variables().len() == 5 {
            let query = ["d", "e"].into_iter().zip(query);
            values.extend(query.filter_map(|(name, value)| Some((name, value?))));
        }
        let uri = template.expand(&values);
        prop_assert_eq!(valid_uri(&uri), Ok(()));
        prop_assert_eq!(template.matches(&uri), Some(values), "{}", uri);
    }

    #[test]
    fn what_is_matched_makes_an_equal_uri(shape in 0..SHAPES.len(), tail in "[-.~20tax:&=/?#%é]{0,24}") {
        let template = template(SHAPES[shape]);
        if let Some(values) = template.matches(&format!("notes://{tail}")) {
            let uri = template.expand(&values);
            prop_assert_eq!(template.matches(&uri), Some(values));
        }
    }

    #[test]
    fn nothing_makes_it_panic(source in "(notes:|[{}?,/.%aé2]|\\PC){0,20}", uri in "(notes:|[?&=/.%aé2#]|\\PC){0,20}") {
        let _ = valid_uri(&source);
        if let Ok(template) = UriTemplate::parse(&source) {
            let _ = template.matches(&uri);
        }
    }
}
