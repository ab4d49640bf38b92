//! The functions between the matrix products.
//!
//! By hand, because the standard library's `exp` is called number by number, and has no `erf`: that took as long as
//! the products. These are straight sums that compilers turn into vector instructions. They are good to about seven
//! digits, which is as much as their numbers have.

/// e to the power of `x`, for `x` from -87 to 88.
#[inline]
fn exponential(x: f32) -> f32 {
    // e^x = 2^(n + f): n goes into the exponent's bits, a polynomial stands for 2^f, f from -0.5 to 0.5.
    let scaled = x.clamp(-87.0, 88.0) * std::f32::consts::LOG2_E;
    // Adding a number this large rounds to a whole one, without a call to `round`.
    const ROUNDING: f32 = 12_582_912.0;
    let shifted = scaled + ROUNDING;
    let whole = shifted - ROUNDING;
    let f = (scaled - whole) * std::f32::consts::LN_2;
    let power = 1.0
        + f * (1.0 + f * (0.5 + f * (1.0 / 6.0 + f * (1.0 / 24.0 + f * (1.0 / 120.0 + f * (1.0 / 720.0))))));
    let bits = shifted.to_bits().wrapping_sub(ROUNDING.to_bits()).wrapping_shl(23);
    f32::from_bits(power.to_bits().wrapping_add(bits))
}

/// The error function, by Abramowitz and Stegun 7.1.26.
#[inline]
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152_1 + t * 1.061_405_4))));
    (1.0 - sum * exponential(-size * size)).copysign(x)
}

/// What the middle of a layer does to each number.
pub(super) fn gelu(numbers: &mut [f32]) {
    for x in numbers {
        *x = 0.5 * *x * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Turns numbers into shares of 1, the greater the more.
pub(super) fn softmax(numbers: &mut [f32]) {
    let greatest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for x in &mut *numbers {
        *x = exponential(*x - greatest);
    }
    let sum: f32 = numbers.iter().sum();
    numbers.iter_mut().for_each(|x| *x /= sum);
}

/// Brings numbers to mean 0 and spread 1, then to the mean and spread that the model learnt.
pub(super) fn layer_norm(numbers: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    let count = numbers.len() as f32;
    let mean = numbers.iter().sum::<f32>() / count;
    let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
    let scale = 1.0 / (variance + epsilon).sqrt();
    for ((x, weight), bias) in numbers.iter_mut().zip(weight).zip(bias) {
        *x = (*x - mean) * scale * weight + bias;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_good_to_six_digits() {
        for step in -8_600..=8_700 {
            let x = step as f32 / 100.0;
            let error = (f64::from(exponential(x)) / f64::from(x).exp() - 1.0).abs();
            assert!(error < 1e-5, "{x}: {error}");
        }
        assert_eq!(exponential(0.0), 1.0);
        assert!(exponential(-1e30) >= 0.0 && exponential(1e30).is_finite());
    }

    #[test]
    fn the_error_function_has_its_known_values() {
        // From tables.
        for (x, known) in
            [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (3.5, 0.999_999_3)]
        {
            assert!((erf(x) - known).abs() < 1e-6, "{x}: {}", erf(x));
            assert!((erf(-x) + known).abs() < 1e-6, "-{x}: {}", erf(-x));
        }
    }

    #[test]
    fn shares_add_up_and_a_layer_is_normal() {
        let mut numbers = [1.0, 2.0, 3.0, -50.0];
        softmax(&mut numbers);
        assert!((numbers.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((numbers[2] / numbers[1] - std::f32::consts::E).abs() < 1e-4);
        let mut numbers = [1.0, 2.0, 3.0, 4.0];
        layer_norm(&mut numbers, &[2.0; 4], &[1.0; 4], 1e-12);
        assert!((numbers.iter().sum::<f32>() - 4.0).abs() < 1e-5);
        assert!((numbers[3] - (1.0 + 2.0 * 1.341_640_8)).abs() < 1e-5);
    }
}
