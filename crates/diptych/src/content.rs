//! Content beyond the two panels: images, audio, links to resources and embedded resources.
//!
//! A [`Present`](crate::Present) attaches them; prompts are made of them. Text of a tool's answer is
//! never made here: that is the Markdown panel.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who a block is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints about a block. Clients may ignore them, so nothing may depend on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) audience: Vec<Audience>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_modified: Option<String>,
}

/// One block of content that is not a panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Content {
    #[serde(flatten)]
    body: Body,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Body {
    Text {
        text: String,
    },
    Image {
        data: String,
        mime_type: String,
    },
    Audio {
        data: String,
        mime_type: String,
    },
    ResourceLink {
        uri: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    Resource {
        resource: Contents,
    },
}

impl Content {
    fn new(body: Body) -> Self {
        Content { body, annotations: None }
    }

    /// A text block, for the messages of prompts.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text { text: text.into() })
    }

    /// An image from its bytes.
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::new(Body::Image { data: STANDARD.encode(bytes), mime_type: mime_type.into() })
    }

    /// A sound from its bytes.
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::new(Body::Audio { data: STANDARD.encode(bytes), mime_type: mime_type.into() })
    }

    /// A link to a resource that the client may read.
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(Body::ResourceLink {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
        })
    }

    /// A resource with its contents.
    pub fn resource(contents: Contents) -> Self {
        Self::new(Body::Resource { resource: contents })
    }

    /// The title of a resource link.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        if let Body::ResourceLink { title, .. } = &mut self.body {
            *title = Some(text.into());
        }
        self
    }

    /// The description of a resource link.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        if let Body::ResourceLink { description, .. } = &mut self.body {
            *description = Some(text.into());
        }
        self
    }

    /// The MIME type of a resource link.
    #[must_use]
    pub fn mime_type(mut self, mime: impl Into<String>) -> Self {
        if let Body::ResourceLink { mime_type, .. } = &mut self.body {
            *mime_type = Some(mime.into());
        }
        self
    }

    /// Who the block is meant for.
    #[must_use]
    pub fn audience(mut self, audience: impl IntoIterator<Item = Audience>) -> Self {
        self.annotations.get_or_insert_default().audience = audience.into_iter().collect();
        self
    }

    /// How much it matters, from 0 to 1.
    #[must_use]
    pub fn priority(mut self, priority: f32) -> Self {
        self.annotations.get_or_insert_default().priority = Some(priority.clamp(0.0, 1.0));
        self
    }

    /// When it last changed, ISO 8601.
    #[must_use]
    pub fn last_modified(mut self, timestamp: impl Into<String>) -> Self {
        self.annotations.get_or_insert_default().last_modified = Some(timestamp.into());
        self
    }
}

/// What reading a resource gives: text or bytes under a URI.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(flatten)]
    data: Data,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Data {
    Text(String),
    Blob(String),
}

impl Contents {
    fn new(uri: String, data: Data) -> Self {
        Contents { uri, mime_type: None, data, meta: Map::new() }
    }

    /// Text. The URI may be left empty when it is the one that was read.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(uri.into(), Data::Text(text.into())).mime_type("text/plain")
    }

    /// Markdown text.
    pub fn markdown(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::text(uri, text).mime_type("text/markdown")
    }

    /// A value as JSON text.
    pub fn json(uri: impl Into<String>, value: &Value) -> Self {
        Self::text(uri, value.to_string()).mime_type("application/json")
    }

    /// Bytes.
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new(uri.into(), Data::Blob(STANDARD.encode(bytes)))
    }

    /// The MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// A display name, such as a file name. The schema has no place for it: it goes into `_meta`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.meta.insert("name".to_owned(), Value::String(name.into()));
        self
    }

    /// A display title. The schema has no place for it: it goes into `_meta`.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.meta.insert("title".to_owned(), Value::String(title.into()));
        self
    }

    /// Gives contents without a URI or MIME type the ones of the resource they were read from.
    pub(crate) fn complete(mut self, uri: &str, mime_type: Option<&str>) -> Self {
        if self.uri.is_empty() {
            uri.clone_into(&mut self.uri);
        }
        if self.mime_type.is_none() {
            self.mime_type = mime_type.map(str::to_owned);
        }
        self
    }
}
