//! A post as its author wrote it: what of it can be searched.

use super::cbor::Cbor;

/// What a search needs of a post record. Parts that make no sense are left out; a post without a text is none.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PostRecord<'block> {
    pub(crate) text: &'block str,
    pub(crate) created_at: Option<&'block str>,
    /// The post that this one answers.
    pub(crate) parent: Option<&'block str>,
    /// The post or list that this one shows.
    pub(crate) quote: Option<&'block str>,
    /// The accounts that the text mentions.
    pub(crate) mentions: Vec<&'block str>,
    /// Where links in the text and the card lead.
    pub(crate) links: Vec<&'block str>,
    /// Tags, of the text and beside it.
    pub(crate) tags: Vec<&'block str>,
    /// Descriptions of images and videos, and the card's title and description.
    pub(crate) captions: Vec<&'block str>,
    pub(crate) has_image: bool,
    pub(crate) has_video: bool,
}

impl<'block> PostRecord<'block> {
    pub(crate) fn read(block: &'block [u8]) -> Option<Self> {
        let mut post = PostRecord::default();
        let mut has_text = false;
        let read = Cbor::new(block).fields(|name, mut value| match name {
            "text" => {
                if let Ok(text) = value.text() {
                    post.text = text;
                    has_text = true;
                }
            }
            "createdAt" => post.created_at = value.text().ok(),
            "reply" => {
                let _ = value.fields(|name, value| {
                    if name == "parent" {
                        post.parent = uri_of(value);
                    }
                });
            }
            "embed" => post.embed(value),
            "facets" => {
                let _ = value.items(|mut facet| {
                    let _ = facet.fields(|name, mut features| {
                        if name == "features" {
                            let _ = features.items(|feature| post.feature(feature));
                        }
                    });
                });
            }
            "tags" => {
                let _ = value.items(|mut tag| post.tags.extend(tag.text()));
            }
            _ => {}
        });
        (read.is_ok() && has_text).then_some(post)
    }

    fn feature(&mut self, mut feature: Cbor<'block>) {
        let _ = feature.fields(|name, mut value| match name {
            "did" => self.mentions.extend(value.text()),
            "uri" => self.links.extend(value.text()),
            "tag" => self.tags.extend(value.text()),
            _ => {}
        });
    }

    /// Whatever kind of embed it is, its parts have names of their own.
    fn embed(&mut self, mut embed: Cbor<'block>) {
        let mut kind = "";
        let peek = embed;
        let _ = { peek }.fields(|name, mut value| {
            if name == "$type" {
                kind = value.text().unwrap_or_default();
            }
        });
        if kind == "app.bsky.embed.video" {
            self.has_video = true;
        }
        let _ = embed.fields(|name, mut value| match name {
            "images" => {
                let _ = value.items(|mut image| {
                    self.has_image = true;
                    let _ = image.fields(|name, value| self.caption(name == "alt", value));
                });
            }
            "alt" => self.caption(true, value),
            "external" => {
                let _ = value.fields(|name, mut value| match name {
                    "uri" => self.links.extend(value.text()),
                    "title" | "description" => self.caption(true, value),
                    _ => {}
                });
            }
            // A quote is `{uri, cid}`; with media it is wrapped once more.
            "record" => {
                self.quote = uri_of(value).or_else(|| {
                    let mut inner = None;
                    let _ = value.fields(|name, value| {
                        if name == "record" {
                            inner = uri_of(value);
                        }
                    });
                    inner
                });
            }
            "media" if kind == "app.bsky.embed.recordWithMedia" => self.media(value),
            _ => {}
        });
    }

    /// The media beside a quote: an embed that is no quote itself, so this does not go deeper.
    fn media(&mut self, media: Cbor<'block>) {
        let quote = self.quote;
        let mut inner = PostRecord::default();
        let mut kind = "";
        let _ = { media }.fields(|name, mut value| {
            if name == "$type" {
                kind = value.text().unwrap_or_default();
            }
        });
        if kind != "app.bsky.embed.recordWithMedia" {
            inner.embed(media);
        }
        self.has_image |= inner.has_image;
        self.has_video |= inner.has_video;
        self.links.append(&mut inner.links);
        self.captions.append(&mut inner.captions);
        self.quote = quote;
    }

    fn caption(&mut self, wanted: bool, mut value: Cbor<'block>) {
        if wanted {
            self.captions.extend(value.text().ok().filter(|text| !text.trim().is_empty()));
        }
    }
}

fn uri_of(mut value: Cbor<'_>) -> Option<&str> {
    let mut uri = None;
    let _ = value.fields(|name, mut value| {
        if name == "uri" {
            uri = value.text().ok();
        }
    });
    uri
}

/// The account in a link to a record: `at://account/collection/key`.
pub(crate) fn account_of(uri: &str) -> Option<&str> {
    uri.strip_prefix("at://")?.split('/').next().filter(|account| !account.is_empty())
}
