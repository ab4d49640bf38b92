//! What an image is, and what of it is published: the picture, and nothing about whoever took it.
//!
//! Cameras and programs write the place, the time, the owner and small copies of the picture into files. Here a file is
//! taken apart into the pieces that its format has, and only those pieces that are needed to show it are put together
//! again, byte for byte: nothing is decoded, so the picture is exactly what it was. A file that cannot be taken apart
//! is no image, whatever its first bytes say. By hand, because the crates for this keep what they do not know.

/// A picture without anything besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) bytes: Vec<u8>,
    pub(super) mime_type: &'static str,
    /// Width and height as shown. Clients use it to leave room.
    pub(super) size: Option<(u32, u32)>,
}

impl Picture {
    /// The picture in a file, if there is one.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => png(bytes),
            [0xff, 0xd8, 0xff, ..] => jpeg(bytes),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif(bytes),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(bytes),
            _ => None,
        }
    }
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn shown(width: u32, height: u32) -> Option<(u32, u32)> {
    (width > 0 && height > 0).then_some((width, height))
}

fn png(bytes: &[u8]) -> Option<Picture> {
    /// The chunks besides the essential ones that say how to show it, animations included.
    const KEPT: [&[u8; 4]; 15] = [
        b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"mDCV", b"cLLI", b"sBIT", b"bKGD", b"hIST",
        b"pHYs", b"acTL", b"fcTL", b"fdAT",
    ];
    let mut reader = Reader(bytes);
    let signature = reader.take(8).filter(|signature| signature[4..] == *b"\r\n\x1a\n")?;
    let mut kept = signature.to_vec();
    let (mut size, mut has_picture) = (None, false);
    loop {
        let chunk = reader.0;
        let length = usize::try_from(big(reader.take(4)?)).ok()?;
        let name = reader.take(4)?;
        let data = reader.take(length)?;
        reader.take(4)?;
        if size.is_none() {
            // The first chunk says how large the picture is.
            size = Some(shown(big(data.get(..4)?), big(data.get(4..8)?)).filter(|_| name == b"IHDR")?);
        }
        has_picture |= name == b"IDAT";
        // Essential chunks have a capital first.
        if name[0].is_ascii_uppercase() || KEPT.iter().any(|kept| name == kept.as_slice()) {
            kept.extend_from_slice(&chunk[..length + 12]);
        }
        if name == b"IEND" {
            return has_picture.then_some(Picture { bytes: kept, mime_type: "image/png", size });
        }
    }
}

fn jpeg(bytes: &[u8]) -> Option<Picture> {
    let mut reader = Reader(bytes);
    let mut kept = reader.take(2)?.to_vec();
    let (mut size, mut turn, mut has_picture) = (None, 1, false);
    // Where what little is kept of the camera's words goes: behind the JFIF header, which must be first.
    let mut place = kept.len();
    loop {
        // A file that breaks off after the picture has begun still shows it.
        if reader.0.is_empty() && has_picture {
            break;
        }
        if reader.byte()? != 0xff {
            return None;
        }
        let mut kind = reader.byte()?;
        while kind == 0xff {
            kind = reader.byte()?;
        }
        match kind {
            // The end. What comes behind it is not part of the picture.
            0xd9 => {
                kept.extend_from_slice(&[0xff, 0xd9]);
                break;
            }
            0x00 | 0x01 | 0xd0..=0xd8 => return None,
            _ => {}
        }
        let segment = reader.0;
        let length = usize::try_from(big(reader.take(2)?)).ok()?;
        let data = reader.take(length.checked_sub(2)?)?;
        let is_frame = (0xc0..=0xcf).contains(&kind) && !matches!(kind, 0xc4 | 0xc8 | 0xcc);
        if is_frame && size.is_none() {
            size = shown(big(data.get(3..5)?), big(data.get(1..3)?));
        }
        if kind == 0xe1 && data.starts_with(b"Exif\0\0") {
            turn = orientation(&data[6..]).unwrap_or(turn);
        }
        let is_kept = match kind {
            0xe0 => data.starts_with(b"JFIF\0"),
            0xe2 => data.starts_with(b"ICC_PROFILE\0"),
            0xee => data.starts_with(b"Adobe"),
            // What programs wrote for themselves, and comments.
            0xe1..=0xef | 0xfe => false,
            _ => true,
        };
        if is_kept {
            kept.extend_from_slice(&[0xff, kind]);
            // A JFIF header may hold a small copy of the picture before it was changed.
            if kind == 0xe0 && data.len() >= 14 {
                kept.extend_from_slice(&[0, 16]);
                kept.extend_from_slice(&data[..12]);
                kept.extend_from_slice(&[0, 0]);
                place = kept.len();
            } else {
                kept.extend_from_slice(&segment[..length]);
            }
        }
        if kind == 0xda {
            has_picture = true;
            let coded = coded(reader.0);
            kept.extend_from_slice(reader.take(coded)?);
        }
    }
    if (2..=8).contains(&turn) {
        kept.splice(place..place, turned(turn));
    }
    let size = size.map(|(width, height)| if turn >= 5 { (height, width) } else { (width, height) });
    (has_picture && size.is_some()).then_some(Picture { bytes: kept, mime_type: "image/jpeg", size })
}

/// How long the coded picture is that stands here: up to a mark that is neither a restart nor a byte like one.
fn coded(bytes: &[u8]) -> usize {
    let is_end = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0x00 | 0xd0..=0xd7 | 0xff);
    bytes.windows(2).position(is_end).unwrap_or(bytes.len())
}

/// How the camera was held: the one thing about it that is needed to show the picture.
fn orientation(exif: &[u8]) -> Option<u8> {
    let number: fn(&[u8]) -> u32 = match exif.get(..4)? {
        b"II*\0" => little,
        b"MM\0*" => big,
        _ => return None,
    };
    let at = usize::try_from(number(exif.get(4..8)?)).ok()?;
    let entries = number(exif.get(at..at.checked_add(2)?)?);
    let mut list = Reader(exif.get(at + 2..)?);
    for _ in 0..entries {
        let entry = list.take(12)?;
        if number(&entry[..2]) == 0x0112 {
            return u8::try_from(number(&entry[8..10])).ok();
        }
    }
    None
}

/// A note that says how the camera was held, and nothing else.
fn turned(orientation: u8) -> Vec<u8> {
    let mut note = vec![0xff, 0xe1, 0, 34];
    note.extend_from_slice(b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0");
    note.extend_from_slice(&[orientation, 0, 0, 0, 0, 0, 0]);
    note
}

fn gif(bytes: &[u8]) -> Option<Picture> {
    let mut reader = Reader(bytes);
    let head = reader.take(13)?;
    let size = shown(little(&head[6..8]), little(&head[8..10]));
    let mut kept = head.to_vec();
    kept.extend_from_slice(reader.take(colours(head[10]))?);
    let mut has_picture = false;
    loop {
        let block = reader.0;
        let kind = reader.byte()?;
        let is_kept = match kind {
            0x3b => {
                kept.push(kind);
                return has_picture.then_some(Picture { bytes: kept, mime_type: "image/gif", size });
            }
            0x2c => {
                has_picture = true;
                let about = reader.take(9)?;
                reader.take(colours(about[8]) + 1)?;
                true
            }
            0x21 => match reader.byte()? {
                // Timing and transparency.
                0xf9 => true,
                // How often it repeats.
                0xff => reader.0.starts_with(b"\x0bNETSCAPE2.0") || reader.0.starts_with(b"\x0bANIMEXTS1.0"),
                _ => false,
            },
            _ => return None,
        };
        loop {
            let length = reader.byte()?;
            reader.take(usize::from(length))?;
            if length == 0 {
                break;
            }
        }
        if is_kept {
            kept.extend_from_slice(&block[..block.len() - reader.0.len()]);
        }
    }
}

/// How long the table of colours is that a GIF announces with these bits.
fn colours(bits: u8) -> usize {
    if bits & 0x80 == 0 { 0 } else { 3 << ((bits & 7) + 1) }
}

fn webp(bytes: &[u8]) -> Option<Picture> {
    let mut reader = Reader(bytes);
    let head = reader.take(12)?;
    let length = usize::try_from(little(&head[4..8])).ok()?;
    // What is behind the container is not part of the picture.
    reader.0 = reader.0.get(..length.checked_sub(4)?)?;
    let mut kept = head.to_vec();
    let (mut size, mut has_picture) = (None, false);
    while !reader.0.is_empty() {
        let chunk = reader.0;
        let name = reader.take(4)?;
        let length = usize::try_from(little(reader.take(4)?)).ok()?;
        let data = reader.take(length)?;
        if length % 2 == 1 {
            reader.take(1)?;
        }
        let chunk = &chunk[..chunk.len() - reader.0.len()];
        let start = kept.len();
        match name {
            b"VP8 " | b"VP8L" | b"ANMF" | b"VP8X" | b"ANIM" | b"ALPH" | b"ICCP" => {
                kept.extend_from_slice(chunk);
            }
            _ => continue,
        }
        has_picture |= matches!(name, b"VP8 " | b"VP8L" | b"ANMF");
        let found = match name {
            b"VP8X" => {
                // The flags that announce what was left out.
                *kept.get_mut(start + 8)? &= !0x0c;
                shown(little(data.get(4..7)?) + 1, little(data.get(7..10)?) + 1)
            }
            b"VP8L" => {
                let bits = little(data.get(1..5)?);
                shown((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)
            }
            b"VP8 " => shown(little(data.get(6..8)?) & 0x3fff, little(data.get(8..10)?) & 0x3fff),
            _ => None,
        };
        size = size.or(found);
    }
    let length = u32::try_from(kept.len().checked_sub(8)?).ok()?;
    kept[4..8].copy_from_slice(&length.to_le_bytes());
    has_picture.then_some(Picture { bytes: kept, mime_type: "image/webp", size })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(kind: u8, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xff, kind], length.as_slice(), data].concat()
    }

    fn frame(width: u16, height: u16) -> Vec<u8> {
        segment(
            0xc0,
            &[&[8], height.to_be_bytes().as_slice(), &width.to_be_bytes(), &[1, 1, 0x11, 0]].concat(),
        )
    }

    /// A scan: its header, and coded bytes in which marks are stuffed as the format has it.
    fn scan(coded: &[u8]) -> Vec<u8> {
        let mut scan = segment(0xda, &[1, 1, 0, 0, 63, 0]);
        for byte in coded {
            scan.push(*byte);
            if *byte == 0xff {
                scan.push(0);
            }
        }
        scan
    }

    fn exif(orientation: u8) -> Vec<u8> {
        let mut data = b"Exif\0\0II*\0\x08\0\0\0\x02\0".to_vec();
        data.extend_from_slice(b"\x25\x88\x04\0\x01\0\0\0\x26\0\0\0");
        data.extend_from_slice(&[0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]);
        data.extend_from_slice(b"52.5200 N 13.4050 E");
        segment(0xe1, &data)
    }

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_photograph_loses_its_place_and_keeps_how_it_is_held() {
        let parts = [
            vec![0xff, 0xd8],
            segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\x01\x01abc"),
            exif(6),
            segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<owner/>"),
            segment(0xe2, b"ICC_PROFILE\0\x01\x01colours"),
            segment(0xe2, b"MPF\0another"),
            segment(0xed, b"Photoshop 3.0\0caption"),
            segment(0xfe, b"a comment"),
            segment(0xdb, &[0; 65]),
            frame(16, 9),
            scan(&[1, 0xff, 2]),
            segment(0xc4, &[0; 20]),
            scan(&[3]),
            vec![0xff, 0xd9],
            b"a film behind the picture".to_vec(),
        ];
        let picture = Picture::read(&parts.concat()).unwrap();
        assert_eq!((picture.mime_type, picture.size), ("image/jpeg", Some((9, 16))));
        let kept = [
            vec![0xff, 0xd8],
            segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"),
            turned(6),
            parts[4].clone(),
            parts[8..=13].concat(),
        ];
        assert_eq!(picture.bytes, kept.concat());
        assert_eq!(Picture::read(&picture.bytes), Some(picture), "what is clean stays as it is");
        assert_eq!(orientation(&turned(8)[10..]), Some(8));
    }

    fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        // The sum at the end is kept as it is, so that here it need not be right.
        [length.as_slice(), name, data, b"sum."].concat()
    }

    fn png_of(chunks: &[Vec<u8>]) -> Vec<u8> {
        let head = chunk(b"IHDR", &[0, 0, 0, 16, 0, 0, 0, 9, 8, 2, 0, 0, 0]);
        [b"\x89PNG\r\n\x1a\n".to_vec(), head, chunks.concat(), chunk(b"IEND", b"")].concat()
    }

    #[test]
    fn a_drawing_loses_its_words() {
        let (colours, picture) = (chunk(b"iCCP", b"profile"), chunk(b"IDAT", b"pixels"));
        let words = ["tEXt", "zTXt", "iTXt", "eXIf", "tIME", "prVt"]
            .map(|name| chunk(name.as_bytes().try_into().unwrap(), b"somebody was here"));
        let mut all = vec![colours.clone()];
        all.extend(words);
        all.push(picture.clone());
        let mut bytes = png_of(&all);
        bytes.extend_from_slice(b"behind");
        let read = Picture::read(&bytes).unwrap();
        assert_eq!((read.bytes, read.size), (png_of(&[colours, picture]), Some((16, 9))));
        assert_eq!(Picture::read(&png_of(&[])), None, "a file without a picture is none");
    }

    #[test]
    fn other_kinds_lose_theirs() {
        let web = |name: &[u8; 4], data: &[u8]| {
            let length = u32::try_from(data.len()).unwrap().to_le_bytes();
            [name.as_slice(), &length, data, &vec![0; data.len() % 2]].concat()
        };
        let whole = |chunks: &[Vec<u8>]| {
            let body = [b"WEBP".to_vec(), chunks.concat()].concat();
            [b"RIFF".to_vec(), u32::try_from(body.len()).unwrap().to_le_bytes().to_vec(), body].concat()
        };
        let lossless = web(b"VP8L", &[0x2f, 15, 0, 2, 0, 7, 7]);
        let file = whole(&[
            web(b"VP8X", &[0x0c, 0, 0, 0, 15, 0, 0, 8, 0, 0]),
            lossless.clone(),
            web(b"EXIF", b"place"),
            web(b"XMP ", b"owner"),
        ]);
        let read = Picture::read(&file).unwrap();
        let clean = whole(&[web(b"VP8X", &[0, 0, 0, 0, 15, 0, 0, 8, 0, 0]), lossless.clone()]);
        assert_eq!((read.bytes, read.size), (clean, Some((16, 9))));
        assert_eq!(Picture::read(&whole(&[lossless])).unwrap().size, Some((16, 9)));

        let picture = b"\x2c\0\0\0\0\x10\0\x09\0\0\x02\x02\x4c\x01\0";
        let looped = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0";
        let gif = |blocks: &[&[u8]]| {
            [b"GIF89a\x10\0\x09\0\x80\0\0abcdef".as_slice(), &blocks.concat(), b"\x3b"].concat()
        };
        let file = gif(&[looped, b"\x21\xfe\x05hello\0", b"\x21\xff\x0bXMP DataXMP\x03abc\0", picture]);
        let read = Picture::read(&[file.as_slice(), b"behind"].concat()).unwrap();
        assert_eq!((read.bytes, read.size), (gif(&[looped, picture]), Some((16, 9))));
    }

    #[test]
    fn what_only_begins_like_an_image_is_none() {
        for bytes in [
            b"root:x:0:0".as_slice(),
            b"\x89PNG\r\n\x1a\nroot:x:0:0:root:/root:/bin/sh",
            b"\xff\xd8\xffroot:x:0:0:root",
            b"GIF89aroot:x:0:0:root:/root:/bin/sh",
            b"RIFF\x40\0\0\0WEBProot:x:0:0:root:/root:/bin/sh",
            b"",
        ] {
            assert_eq!(Picture::read(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(kind in 0_usize..5, rest in prop::collection::vec(any::<u8>(), 0..200)) {
            let starts: [&[u8]; 5] = [
                b"", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0....", b"\xff\xd8\xff",
                b"GIF89a\x10\0\x09\0\0\0\0", b"RIFF\x20\0\0\0WEBPVP8X",
            ];
            let bytes = [starts[kind], &rest].concat();
            if let Some(picture) = Picture::read(&bytes) {
                // What came through comes through again, unchanged.
                prop_assert_eq!(Picture::read(&picture.bytes), Some(picture));
            }
        }

        #[test]
        fn the_picture_of_a_photograph_is_untouched(
            before in prop::collection::vec((0xe0_u8..=0xfe, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
            between in prop::collection::vec((0xe1_u8..=0xef, prop::collection::vec(any::<u8>(), 0..40)), 0..3),
            pixels in prop::collection::vec(any::<u8>(), 1..200),
            cut in 0_usize..400,
        ) {
            let segments = |list: &[(u8, Vec<u8>)]| -> Vec<u8> {
                list.iter().flat_map(|(kind, data)| segment(*kind, &[b"secret", data.as_slice()].concat())).collect()
            };
            let picture = [frame(3, 5), scan(&pixels)].concat();
            let file = [
                vec![0xff, 0xd8], segments(&before), picture.clone(), segments(&between), scan(&pixels), vec![0xff, 0xd9],
            ].concat();
            let read = Picture::read(&file).unwrap();
            prop_assert!(contains(&read.bytes, &picture));
            prop_assert!(read.bytes.ends_with(&[scan(&pixels), vec![0xff, 0xd9]].concat()));
            let others = before.iter().all(|(kind, _)| (0xe0..=0xef).contains(kind) || *kind == 0xfe);
            prop_assert!(!others || !contains(&read.bytes, b"secret"));
            // Wherever a file breaks off.
            let _ = Picture::read(&file[..cut.min(file.len())]);
        }

        #[test]
        fn the_picture_of_a_drawing_is_untouched(
            chunks in prop::collection::vec(("[a-z][a-zA-Z]{3}", prop::collection::vec(any::<u8>(), 0..40)), 0..6),
            pixels in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let picture = chunk(b"IDAT", &pixels);
            let mut all: Vec<Vec<u8>> =
                chunks.iter().map(|(name, data)| chunk(name.as_bytes().try_into().unwrap(), data)).collect();
            all.insert(all.len() / 2, picture.clone());
            let read = Picture::read(&png_of(&all)).unwrap();
            prop_assert!(contains(&read.bytes, &picture));
            prop_assert_eq!(Picture::read(&read.bytes).unwrap().bytes, read.bytes);
        }
    }
}
