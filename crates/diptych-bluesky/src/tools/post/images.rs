//! The images of a post: where they come from, and that they are images.
//!
//! Only what begins as one of four kinds of image is taken, whatever its name says, so that nobody posts another file of
//! this machine.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use diptych::{Cx, Stop, ToolError};
use serde_json::{Value, json};

use super::super::{Bluesky, invalid};
use super::ImageArgument;
use crate::accounts::Session;
use crate::network::{Caller, Method, Request};

/// The most bytes of an image.
const MOST_BYTES: usize = 1_000_000;

/// An image, ready to be uploaded.
#[derive(Debug)]
pub(super) struct Image {
    bytes: Vec<u8>,
    mime_type: &'static str,
    size: Option<(u32, u32)>,
    alt: String,
}

impl Image {
    /// Looks at the first bytes, which say what it is.
    pub(super) fn read(bytes: Vec<u8>) -> Option<Self> {
        let mime_type = match bytes.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => "image/png",
            [0xff, 0xd8, 0xff, ..] => "image/jpeg",
            [b'G', b'I', b'F', b'8', ..] => "image/gif",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
            _ => return None,
        };
        let size = size(&bytes, mime_type);
        Some(Image { bytes, mime_type, size, alt: String::new() })
    }
}

/// Width and height, of the kinds that say them plainly. Clients use it to leave room.
fn size(bytes: &[u8], mime_type: &str) -> Option<(u32, u32)> {
    let number = |range: std::ops::Range<usize>| {
        bytes
            .get(range)
            .map(|bytes| bytes.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte)))
    };
    let (width, height) = match mime_type {
        "image/png" => (number(16..20)?, number(20..24)?),
        "image/gif" => {
            let little = |at: usize| Some(u32::from(*bytes.get(at)?) | u32::from(*bytes.get(at + 1)?) << 8);
            (little(6)?, little(8)?)
        }
        "image/jpeg" => {
            let mut at = 2;
            loop {
                let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
                if mark != 0xff {
                    return None;
                }
                // The frame header, of whatever coding; the three others in this range are tables.
                if (0xc0..=0xcf).contains(&kind) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
                    break (number(at + 7..at + 9)?, number(at + 5..at + 7)?);
                }
                at += 2 + number(at + 2..at + 4)?.max(2) as usize;
            }
        }
        _ => return None,
    };
    (width > 0 && height > 0).then_some((width, height))
}

/// Fetches the images that the arguments name.
pub(super) async fn load(cx: &Cx<Bluesky>, arguments: &[ImageArgument]) -> Result<Vec<Image>, Stop> {
    let mut images = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        let path = format!("images[{position}].source");
        let bytes = bytes(cx, &path, argument.source.trim()).await?;
        if bytes.len() > MOST_BYTES {
            return Err(invalid(&path, "must have at most 1 MB").into());
        }
        let image =
            Image::read(bytes).ok_or_else(|| invalid(&path, "must be a PNG, JPEG, GIF or WebP image"))?;
        images.push(Image { alt: argument.alt.trim().to_owned(), ..image });
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
    let file = source.to_owned();
    let read = cx
        .blocking(move || {
            let length = std::fs::metadata(&file)?.len();
            if length > MOST_BYTES as u64 { Ok(vec![0; MOST_BYTES + 1]) } else { std::fs::read(&file) }
        })
        .await?;
    Ok(read.map_err(|_: std::io::Error| -> ToolError { invalid(path, "is not a file that can be read") })?)
}

/// Uploads them, and returns them as a post embeds them.
pub(super) async fn upload(session: &Session, images: Vec<Image>) -> Result<Vec<Value>, Stop> {
    let caller: &dyn Caller = session;
    let mut embedded = Vec::new();
    for image in images {
        let method = Method::Upload(image.bytes, image.mime_type.to_owned());
        let request = Request { name: "com.atproto.repo.uploadBlob", query: Vec::new(), method };
        let answer: Value = caller.read(request).await?;
        let mut entry = json!({"image": answer["blob"], "alt": image.alt});
        if let Some((width, height)) = image.size {
            entry["aspectRatio"] = json!({"width": width, "height": height});
        }
        embedded.push(entry);
    }
    Ok(embedded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 17, 8, 0, 9, 0, 16, 3];
        assert_eq!(size(&jpeg, "image/jpeg"), Some((16, 9)));
        assert_eq!(size(&jpeg[..9], "image/jpeg"), None);
        assert_eq!(size(b"GIF89a\x10\x00\x09\x00", "image/gif"), Some((16, 9)));
        assert_eq!(size(b"RIFF....WEBP", "image/webp"), None);
    }
}
