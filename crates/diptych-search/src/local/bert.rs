//! The encoder: tokens in, one vector for each text out.
//!
//! All texts of a batch lie one below the other in one matrix, without padding: the products are made for all tokens
//! together, and only attention looks at one text at a time.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::Deserialize;

use super::math::{gelu, layer_norm, softmax};
use super::weights::{Rows, Weights};
use crate::embed::EmbedError;

/// The sizes of a model.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    vocab_size: usize,
    layer_norm_eps: f32,
    hidden_act: String,
    model_type: String,
}

impl Config {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let config: Self =
            serde_json::from_slice(bytes).map_err(|_| "is not the configuration of a BERT model")?;
        if config.model_type != "bert" || config.hidden_act != "gelu" {
            return Err("is not that of a BERT model with GELU, the only kind that runs here".to_owned());
        }
        let sizes = [config.hidden_size, config.intermediate_size, config.num_attention_heads];
        let heads_fit =
            config.num_attention_heads > 0 && config.hidden_size.is_multiple_of(config.num_attention_heads);
        if sizes.contains(&0) || !heads_fit || sizes.iter().any(|size| *size > 65_536) {
            return Err("has sizes that do not fit together".to_owned());
        }
        Ok(config)
    }
}

/// A table and what is added: `x · wᵀ + b`.
struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

impl Linear {
    fn load(weights: &mut Weights, name: &str, outputs: usize, inputs: usize) -> Result<Self, String> {
        Ok(Self {
            weight: weights.matrix(&format!("{name}.weight"), outputs, inputs)?,
            bias: weights.vector(&format!("{name}.bias"), outputs)?.into(),
        })
    }

    /// The same table three times, for what is always needed together.
    fn load_three(weights: &mut Weights, names: &[String; 3], size: usize) -> Result<Self, String> {
        let mut all = Self { weight: Array2::zeros((3 * size, size)), bias: Array1::zeros(3 * size) };
        for (number, name) in names.iter().enumerate() {
            let one = Self::load(weights, name, size, size)?;
            let rows = number * size..(number + 1) * size;
            all.weight.slice_mut(s![rows.clone(), ..]).assign(&one.weight);
            all.bias.slice_mut(s![rows]).assign(&one.bias);
        }
        Ok(all)
    }

    fn run(&self, input: &Array2<f32>) -> Array2<f32> {
        let mut output = Array2::zeros((input.nrows(), self.weight.nrows()));
        output.axis_iter_mut(Axis(0)).for_each(|mut row| row.assign(&self.bias));
        general_mat_mul(1.0, input, &self.weight.t(), 1.0, &mut output);
        output
    }
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    fn load(weights: &mut Weights, name: &str, config: &Config) -> Result<Self, String> {
        Ok(Self {
            weight: weights.vector(&format!("{name}.weight"), config.hidden_size)?,
            bias: weights.vector(&format!("{name}.bias"), config.hidden_size)?,
            epsilon: config.layer_norm_eps,
        })
    }

    fn run(&self, numbers: &mut Array2<f32>) {
        for mut row in numbers.axis_iter_mut(Axis(0)) {
            if let Some(row) = row.as_slice_mut() {
                layer_norm(row, &self.weight, &self.bias, self.epsilon);
            }
        }
    }
}

struct Layer {
    query_key_value: Linear,
    attended: Linear,
    attended_norm: Norm,
    widen: Linear,
    narrow: Linear,
    norm: Norm,
}

impl Layer {
    fn load(weights: &mut Weights, number: usize, config: &Config) -> Result<Self, String> {
        let (size, middle) = (config.hidden_size, config.intermediate_size);
        let part = |part: &str| format!("encoder.layer.{number}.{part}");
        let parts = ["query", "key", "value"].map(|name| part(&format!("attention.self.{name}")));
        Ok(Self {
            query_key_value: Linear::load_three(weights, &parts, size)?,
            attended: Linear::load(weights, &part("attention.output.dense"), size, size)?,
            attended_norm: Norm::load(weights, &part("attention.output.LayerNorm"), config)?,
            widen: Linear::load(weights, &part("intermediate.dense"), middle, size)?,
            narrow: Linear::load(weights, &part("output.dense"), size, middle)?,
            norm: Norm::load(weights, &part("output.LayerNorm"), config)?,
        })
    }

    fn run(&self, hidden: &Array2<f32>, texts: &[std::ops::Range<usize>], heads: usize) -> Array2<f32> {
        let all = self.query_key_value.run(hidden);
        let size = hidden.ncols();
        let mut context = Array2::zeros(hidden.dim());
        for text in texts {
            for head in 0..heads {
                let columns = head * size / heads..(head + 1) * size / heads;
                let part = |number: usize| {
                    let columns = number * size + columns.start..number * size + columns.end;
                    all.slice(s![text.clone(), columns])
                };
                let mut target = context.slice_mut(s![text.clone(), columns.clone()]);
                attend(&part(0), &part(1), &part(2), &mut target);
            }
        }
        let mut attended = self.attended.run(&context);
        attended += hidden;
        self.attended_norm.run(&mut attended);
        let mut middle = self.widen.run(&attended);
        if let Some(numbers) = middle.as_slice_mut() {
            gelu(numbers);
        }
        let mut output = self.narrow.run(&middle);
        output += &attended;
        self.norm.run(&mut output);
        output
    }
}

/// Each token takes from the others what it is looking for.
fn attend(
    query: &ArrayView2<'_, f32>,
    key: &ArrayView2<'_, f32>,
    value: &ArrayView2<'_, f32>,
    target: &mut ndarray::ArrayViewMut2<'_, f32>,
) {
    let tokens = query.nrows();
    let mut scores = Array2::zeros((tokens, tokens));
    general_mat_mul(1.0 / (query.ncols() as f32).sqrt(), query, &key.t(), 0.0, &mut scores);
    for mut row in scores.axis_iter_mut(Axis(0)) {
        if let Some(row) = row.as_slice_mut() {
            softmax(row);
        }
    }
    general_mat_mul(1.0, &scores, value, 0.0, target);
}

/// A model with its numbers.
pub(super) struct Bert {
    words: Rows,
    /// What a token gets for its place; the kind of sentence, always the first, is added already.
    places: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
}

impl Bert {
    pub(super) fn load(config: &Config, weights: &mut Weights) -> Result<Self, String> {
        let size = config.hidden_size;
        let mut places =
            weights.matrix("embeddings.position_embeddings.weight", config.max_position_embeddings, size)?;
        let kinds =
            weights.matrix("embeddings.token_type_embeddings.weight", config.type_vocab_size, size)?;
        if config.type_vocab_size > 0 {
            places += &kinds.row(0);
        }
        Ok(Self {
            words: weights.rows("embeddings.word_embeddings.weight", config.vocab_size, size)?,
            places,
            norm: Norm::load(weights, "embeddings.LayerNorm", config)?,
            layers: (0..config.num_hidden_layers)
                .map(|number| Layer::load(weights, number, config))
                .collect::<Result<_, _>>()?,
            heads: config.num_attention_heads,
        })
    }

    /// How many words it knows.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// The mean of what each text's tokens have become.
    pub(super) fn embed(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let size = self.places.ncols();
        let total = texts.iter().map(|text| text.len().min(self.places.nrows())).sum();
        let mut hidden = Array2::<f32>::zeros((total, size));
        let mut ranges = Vec::with_capacity(texts.len());
        let mut at = 0;
        for text in texts {
            let start = at;
            for (place, token) in text.iter().take(self.places.nrows()).enumerate() {
                let mut row = hidden.row_mut(at);
                row.assign(&self.places.row(place));
                if let Some(row) = row.as_slice_mut() {
                    self.words
                        .add_to(row, *token as usize)
                        .map_err(|why| super::broken(super::WEIGHTS, &why))?;
                }
                at += 1;
            }
            ranges.push(start..at);
        }
        self.norm.run(&mut hidden);
        for layer in &self.layers {
            hidden = layer.run(&hidden, &ranges, self.heads);
        }
        Ok(ranges
            .into_iter()
            .map(|text| {
                let mean = hidden.slice(s![text, ..]).mean_axis(Axis(0));
                mean.map_or_else(|| vec![0.0; size], |mean| mean.to_vec())
            })
            .collect())
    }
}
