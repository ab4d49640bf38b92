//! Search by meaning with the real model, which `diptych model install` fetches into the cache.
//!
//! The tests are ordinary ones that do nothing without the model's folder; each says what it checked, so that a run in
//! which they did nothing fails.

use crate::steps::{BUILD_LIMIT, Context, Tally, cargo, test_results};

/// Names the folder of the real model.
const FOLDER: &str = "DIPTYCH_TEST_MODEL";
/// What a test says when it has checked something.
const CHECKED: &str = "checked with the real model: ";
/// The test programs, and how many things they check together.
const PROGRAMS: [&str; 4] = ["real_model", "paraphrases", "meaning", "model"];
const CHECKS: usize = 17;

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let diptych = context.binary()?;
    let model = context.cache.model(&mut context.log, &diptych)?;
    let mut command = cargo();
    // The whole workspace, as the unit tests have it: then nothing is built twice.
    command.current_dir(&context.root).env(FOLDER, &model).args(["test", "--workspace", "--no-fail-fast"]);
    command.args(PROGRAMS.iter().flat_map(|program| ["--test", program])).args(["--", "--nocapture"]);
    let finished = context.log.run(command, BUILD_LIMIT)?;
    let mut tally = test_results(&finished.output);
    let checked = finished.output.lines().filter(|line| line.contains(CHECKED)).count();
    if tally.failed == 0 && (!finished.success || checked < CHECKS) {
        let note = format!("{checked} of {CHECKS} checks with the real model were made");
        tally.add(&Tally { failed: 1, note, ..Tally::default() });
    }
    Ok(tally)
}
