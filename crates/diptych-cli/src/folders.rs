//! Where things are kept, by the platform's own conventions.

use std::path::{Path, PathBuf};

use etcetera::AppStrategy;
use etcetera::app_strategy::{AppStrategyArgs, choose_native_strategy};

use crate::exit::{Failure, Outcome};

/// Our folders on this machine. None of them has to exist.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) home: PathBuf,
    pub(crate) configuration: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Folders {
    pub(crate) fn find() -> Outcome<Self> {
        let strategy = choose_native_strategy(AppStrategyArgs {
            top_level_domain: "dev".to_owned(),
            author: String::new(),
            app_name: "diptych".to_owned(),
        })
        .map_err(|_| {
            Failure::failed("There is no home folder to keep things in.")
                .hint("Set HOME to a folder of yours.")
        })?;
        Ok(Folders {
            home: strategy.home_dir().to_owned(),
            configuration: strategy.config_dir(),
            data: strategy.data_dir(),
            cache: strategy.cache_dir(),
        })
    }

    /// Folders that all are in this one.
    pub(crate) fn within(folder: &Path) -> Self {
        let inner = |name: &str| folder.join(name);
        Folders {
            home: folder.to_owned(),
            configuration: inner("configuration"),
            data: inner("data"),
            cache: inner("cache"),
        }
    }

    /// The configuration file.
    pub(crate) fn settings_file(&self) -> PathBuf {
        self.configuration.join("diptych.toml")
    }

    /// A path as people write it: with `~` for their home.
    pub(crate) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~{}{}", std::path::MAIN_SEPARATOR, rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}
