//! What a service answers, and whether it can be used.

use diptych_search::normalise;
use serde::Deserialize;

#[derive(Deserialize)]
struct Answer {
    data: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    /// Which text it is for; some services leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The vectors of so many texts, in their order and of length 1. A problem is the end of a sentence.
pub(crate) fn vectors(bytes: &[u8], count: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|_| "is not a list of vectors")?;
    if answer.data.len() != count {
        return Err(format!("has {} vectors for {count} texts", answer.data.len()));
    }
    let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); count];
    for (place, mut one) in answer.data.into_iter().enumerate() {
        let index = one.index.unwrap_or(place);
        let Some(free) = vectors.get_mut(index).filter(|vector| vector.is_empty()) else {
            return Err("does not have one vector for each text".to_owned());
        };
        if !normalise(&mut one.embedding) {
            return Err("has a vector without a direction".to_owned());
        }
        *free = one.embedding;
    }
    let dimensions = vectors.first().map_or(0, Vec::len);
    if vectors.iter().any(|vector| vector.len() != dimensions) {
        return Err("has vectors of different dimensions".to_owned());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_texts() {
        let bytes = br#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,0]}]}"#;
        assert_eq!(vectors(bytes, 2), Ok(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        assert_eq!(vectors(br#"{"data":[{"embedding":[0.6,0.8]}]}"#, 1).map(|all| all[0].len()), Ok(2));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (bytes, problem) in [
            ("", "is not a list of vectors"),
            ("{\"error\":\"x\"}", "is not a list of vectors"),
            (r#"{"data":[{"embedding":"AAAA"}]}"#, "is not a list of vectors"),
            (r#"{"data":[]}"#, "has 0 vectors for 1 texts"),
            (r#"{"data":[{"index":7,"embedding":[1]}]}"#, "does not have one vector for each text"),
            (r#"{"data":[{"embedding":[]}]}"#, "has a vector without a direction"),
            (r#"{"data":[{"embedding":[0,0]}]}"#, "has a vector without a direction"),
        ] {
            assert_eq!(vectors(bytes.as_bytes(), 1), Err(problem.to_owned()), "{bytes}");
        }
        let uneven = br#"{"data":[{"embedding":[1]},{"embedding":[1,1]}]}"#;
        assert_eq!(vectors(uneven, 2), Err("has vectors of different dimensions".to_owned()));
        let twice = br#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#;
        assert_eq!(vectors(twice, 2), Err("does not have one vector for each text".to_owned()));
    }
}
