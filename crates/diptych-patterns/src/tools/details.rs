//! `patternDetails:v1`: one pattern in full.

use std::sync::Arc;

use diptych::{Markdown, Present};
use schemars::JsonSchema;
use serde::Serialize;

use super::card::{draw_card, draw_sections};
use crate::{Catalogue, Difficulty, Example, Pattern, Provenance, Section, SectionKind};

/// A pattern in full.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "A pattern in full.")]
pub(super) struct PatternDetails {
    id: String,
    title: String,
    category: String,
    difficulty: Difficulty,
    /// One or two sentences.
    summary: String,
    /// What the pattern is, in full.
    description: String,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_guidance: Option<UseGuidance>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    use_cases: Vec<String>,
    /// The text, section by section.
    sections: Vec<Section>,
    examples: Vec<Example>,
    /// Ids of patterns that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_patterns: Vec<String>,
    provenance: Provenance,
    #[serde(skip)]
    pattern: Arc<Pattern>,
    /// The related patterns themselves.
    #[serde(skip)]
    related: Vec<Arc<Pattern>>,
}

/// When the pattern fits and when not.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct UseGuidance {
    #[serde(skip_serializing_if = "Option::is_none")]
    use_when: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avoid_when: Option<String>,
}

impl PatternDetails {
    pub(super) fn new(catalogue: &Catalogue, pattern: &Arc<Pattern>) -> Self {
        let guided = pattern.use_when.is_some() || pattern.avoid_when.is_some();
        PatternDetails {
            id: pattern.id.clone(),
            title: pattern.title.clone(),
            category: pattern.category.clone(),
            difficulty: pattern.difficulty,
            summary: pattern.summary.clone(),
            description: pattern.description.clone(),
            tags: pattern.tags.clone(),
            use_guidance: guided.then(|| UseGuidance {
                use_when: pattern.use_when.clone(),
                avoid_when: pattern.avoid_when.clone(),
            }),
            use_cases: pattern.use_cases.clone(),
            sections: pattern.sections.clone(),
            examples: pattern.examples.clone(),
            related_patterns: pattern.related.clone(),
            provenance: catalogue.provenance().clone(),
            related: pattern.related.iter().filter_map(|id| catalogue.get(id)).cloned().collect(),
            pattern: Arc::clone(pattern),
        }
    }

    fn has_section(&self, kind: SectionKind) -> bool {
        self.sections.iter().any(|section| section.kind == kind)
    }
}

impl Present for PatternDetails {
    const KIND: &'static str = "patternDetails:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        draw_card(markdown, &self.pattern);
        if let Some(avoid_when) = &self.pattern.avoid_when
            && !self.has_section(SectionKind::AvoidWhen)
        {
            markdown.paragraph(|line| {
                line.literal("**Avoid when:** ").text(avoid_when);
            });
        }
        draw_sections(markdown, &self.pattern, &self.sections);
        if !self.use_cases.is_empty() && !self.has_section(SectionKind::UseCases) {
            markdown.heading(2, "Use Cases");
            for use_case in &self.use_cases {
                markdown.bullet(|line| {
                    line.text(use_case);
                });
            }
        }
        if !self.related.is_empty() {
            markdown.heading(2, "Related Patterns");
            for related in &self.related {
                markdown.bullet(|line| {
                    line.bold(&related.title).literal(" (").code(&related.id).literal(")");
                });
            }
        }
    }

    fn records(&self) -> usize {
        self.sections.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.sections.truncate(keep);
        self.examples.truncate(keep);
        None
    }
}
