//! Search by meaning with the real model, which `diptych model install` fetches into the cache.
//!
//! The tests are ordinary ones that do nothing without the model's folder; each says what it checked, so that a run in
//! which they did nothing fails.

use crate::steps::{Context, Tally, test_results};

/// Names the folder of the real model.
const FOLDER: &str = "DIPTYCH_TEST_MODEL";
/// What a test says when it has checked something.
const CHECKED: &str = "checked with the real model: ";
/// The test programs, and how many things each of them checks.
const PROGRAMS: [(&[&str], usize); 4] = [
    (&["--package", "diptych-search", "--features", "local", "--test", "real_model"], 1),
    (&["--package", "diptych-graph", "--test", "paraphrases"], 9),
    (&["--package", "diptych-patterns", "--test", "meaning"], 4),
    (&["--package", "diptych-cli", "--test", "model"], 3),
];

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let diptych = context.binary()?;
    let model = context.cache.model(&mut context.log, &diptych)?;
    let mut tally = Tally::default();
    for (program, expected) in PROGRAMS {
        let mut command = crate::steps::cargo();
        command
            .current_dir(&context.root)
            .env(FOLDER, &model)
            .arg("test")
            .args(program)
            .args(["--", "--nocapture"]);
        let finished = context.log.run(command, crate::steps::BUILD_LIMIT)?;
        tally.add(&test_results(&finished.output));
        let checked = finished.output.lines().filter(|line| line.contains(CHECKED)).count();
        if !finished.success || checked < expected {
            let name = program.last().copied().unwrap_or_default();
            let note = format!("{name}: {checked} of {expected} checks were made");
            tally.add(&Tally { failed: 1, note, ..Tally::default() });
        }
    }
    Ok(tally)
}
