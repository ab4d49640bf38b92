//! The images of a post: where they come from, and how they get into it.

use std::fs::File;
use std::io::{self, Read as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use diptych::{Cx, Stop, ToolError};
use serde_json::{Value, json};

use super::super::{Bluesky, invalid};
use super::ImageArgument;
use super::picture::Picture;
use crate::accounts::Session;
use crate::network::{Caller, Method, Request};

/// The most bytes of an image that the network takes.
const MOST_BYTES: usize = 2_000_000;
/// The most bytes of a file that are looked at for an image: what is taken out of it may be large.
const MOST_READ: u64 = 8 * 1024 * 1024;

/// An image, ready to be uploaded.
#[derive(Debug)]
pub(super) struct Image {
    picture: Picture,
    alt: String,
}

/// Fetches the images that the arguments name.
pub(super) async fn load(cx: &Cx<Bluesky>, arguments: &[ImageArgument]) -> Result<Vec<Image>, Stop> {
    let mut images = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        let path = format!("images[{position}].source");
        let bytes = bytes(cx, &path, argument.source.trim()).await?;
        let picture =
            Picture::read(&bytes).ok_or_else(|| invalid(&path, "must be a PNG, JPEG, GIF or WebP image"))?;
        if picture.bytes.len() > MOST_BYTES {
            return Err(invalid(&path, "must have at most 2 MB").into());
        }
        images.push(Image { picture, alt: argument.alt.trim().to_owned() });
    }
    Ok(images)
}

async fn bytes(cx: &Cx<Bluesky>, path: &str, source: &str) -> Result<Vec<u8>, Stop> {
    if let Some(data) = source.strip_prefix("data:") {
        let decoded = data.split_once(";base64,").and_then(|(_, data)| BASE64_STANDARD.decode(data).ok());
        return Ok(decoded.ok_or_else(|| invalid(path, "must be base64 if it is a data: URI"))?);
    }
    if source.contains("://") {
        return Ok(cx.state().web.get(source, &[]).await?.body);
    }
    // Whoever calls over HTTP may be anywhere, and must not publish what is on this machine.
    if cx.caller().is_remote() {
        let problem =
            "must be an https address or a data: URI: this server does not read files for callers over HTTP";
        return Err(invalid(path, problem).into());
    }
    let file = source.to_owned();
    let read = cx
        .blocking(move || {
            // Devices and pipes have no end.
            if !std::fs::metadata(&file)?.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let mut bytes = Vec::new();
            File::open(file)?.take(MOST_READ).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
        .await?;
    Ok(read.map_err(|_: io::Error| -> ToolError { invalid(path, "is not a file that can be read") })?)
}

/// Uploads them, and returns them as a post embeds them.
pub(super) async fn upload(session: &Session, images: Vec<Image>) -> Result<Vec<Value>, Stop> {
    let caller: &dyn Caller = session;
    let mut embedded = Vec::new();
    for Image { picture, alt } in images {
        let method = Method::Upload(picture.bytes, picture.mime_type.to_owned());
        let request = Request { name: "com.atproto.repo.uploadBlob", query: Vec::new(), method };
        let answer: Value = caller.read(request).await?;
        let mut entry = json!({"image": answer["blob"], "alt": alt});
        if let Some((width, height)) = picture.size {
            entry["aspectRatio"] = json!({"width": width, "height": height});
        }
        embedded.push(entry);
    }
    Ok(embedded)
}
