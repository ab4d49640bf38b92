//! The smallest image and sound there are.

use diptych::Content;

/// One red pixel.
pub(crate) const PIXEL: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00,
    0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01,
    0x01, 0x00, 0xf7, 0x03, 0x41, 0x43, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60,
    0x82,
];

/// [`PIXEL`] as a block.
pub(crate) fn image() -> Content {
    Content::image(&PIXEL, "image/png")
}

/// A millisecond of silence.
pub(crate) fn sound() -> Content {
    const RATE: u32 = 8000;
    const SAMPLES: [u8; 8] = [0x80; 8];
    let mut wave = Vec::with_capacity(44 + SAMPLES.len());
    let size = SAMPLES.len() as u32;
    wave.extend(b"RIFF");
    wave.extend((36 + size).to_le_bytes());
    wave.extend(b"WAVEfmt ");
    wave.extend(16u32.to_le_bytes());
    // PCM, one channel, one byte a sample.
    wave.extend([1u16, 1].iter().flat_map(|number| number.to_le_bytes()));
    wave.extend([RATE, RATE].iter().flat_map(|number| number.to_le_bytes()));
    wave.extend([1u16, 8].iter().flat_map(|number| number.to_le_bytes()));
    wave.extend(b"data");
    wave.extend(size.to_le_bytes());
    wave.extend(SAMPLES);
    Content::audio(&wave, "audio/wav")
}
