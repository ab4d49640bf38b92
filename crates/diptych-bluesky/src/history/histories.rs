//! Histories of accounts: kept in a folder, brought up to date when the network is there, used as they are when it is not.
//!
//! Any number of processes may share the folder. A file is replaced in one step by a whole new one, and whoever fetches
//! holds a lock for the account meanwhile, so that two do not fetch the same. When a file was last known to be the
//! account's current state is the time of its last change.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use diptych::{Code, ToolError};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::error::RepositoryError;
use super::index::Index;
use super::intake::{Intake, Received};
use super::key::SigningKey;
use super::snapshot::KnownRecords;

/// How many accounts are kept in memory.
const KEPT: usize = 4;
/// How long a transfer may stand still.
const STALL: Duration = Duration::from_secs(30);
/// How long a server may take to say whether there is anything new, when there is something to fall back on.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How often a lock that another process holds is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);
/// How many pieces of a transfer wait to be worked on.
const PIECES: usize = 16;

/// The most bytes of a repository that are fetched unless said otherwise.
pub const DEFAULT_LIMIT: u64 = 2 << 30;

/// Where an account's repository comes from.
pub trait Origin: Send + Sync {
    /// The key that the account signs with; `fresh` when the one that is known did not fit.
    fn key(&self, fresh: bool) -> impl Future<Output = Result<SigningKey, ToolError>> + Send;

    /// The revision of the latest commit.
    fn latest(&self) -> impl Future<Output = Result<String, ToolError>> + Send;

    /// The repository, or what of it is new since a revision.
    fn export(&self, since: Option<&str>) -> impl Future<Output = Result<Export, ToolError>> + Send;
}

/// A transfer.
pub struct Export {
    /// How many bytes there will be, where that is known.
    pub total: Option<u64>,
    /// The bytes.
    pub pieces: BoxStream<'static, Result<Vec<u8>, ToolError>>,
}

/// Is told how many bytes have arrived, and of how many.
pub type Progress<'a> = &'a (dyn Fn(u64, Option<u64>) -> BoxFuture<'a, ()> + Send + Sync);

/// An account as it was when it was last asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownAccount {
    /// Its DID.
    pub did: String,
    /// Its handle, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The service that keeps its repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pds: Option<String>,
}

/// The histories in one folder.
#[derive(Debug)]
pub struct Histories {
    folder: PathBuf,
    limit: u64,
    loaded: Mutex<Vec<Arc<Index>>>,
    loading: tokio::sync::Mutex<()>,
}

/// An account's history, ready to be searched.
#[derive(Debug, Clone)]
pub struct History {
    /// The posts.
    pub index: Arc<Index>,
    /// When this was last known to be the account's current state.
    pub checked: Timestamp,
    /// Why it could not be brought up to date, if it could not.
    pub behind: Option<ToolError>,
}

impl Histories {
    /// Histories in a folder, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Histories {
            folder: folder.into(),
            limit,
            loaded: Mutex::new(Vec::new()),
            loading: tokio::sync::Mutex::new(()),
        }
    }

    /// The account's history as it is now. When that cannot be had, what is known from earlier, with the reason.
    ///
    /// # Errors
    /// When nothing is known from earlier either.
    pub async fn current(
        &self,
        did: &str,
        origin: &impl Origin,
        progress: Progress<'_>,
    ) -> Result<History, ToolError> {
        let known = self.load(did).await?;
        match self.bring_up_to_date(did, known.clone(), origin, progress).await {
            Ok(index) => Ok(History { index, checked: Timestamp::now(), behind: None }),
            Err(error) => match known {
                Some(index) => {
                    tracing::warn!(%error, "a history could not be brought up to date");
                    Ok(History { index, checked: self.checked(did), behind: Some(error) })
                }
                None => Err(error),
            },
        }
    }

    /// What is known of an account, without asking the network. `behind` is the reason for that.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub async fn known(&self, did: &str, behind: Option<ToolError>) -> Result<Option<History>, ToolError> {
        let index = self.load(did).await?;
        Ok(index.map(|index| History { index, checked: self.checked(did), behind }))
    }

    async fn bring_up_to_date(
        &self,
        did: &str,
        known: Option<Arc<Index>>,
        origin: &impl Origin,
        progress: Progress<'_>,
    ) -> Result<Arc<Index>, ToolError> {
        let latest = match &known {
            // Whoever has something to fall back on does not wait for long.
            Some(_) => tokio::time::timeout(PATIENCE, origin.latest()).await.map_err(|_| {
                ToolError::network("The account's server did not answer in time.")
                    .hint("Try again in a moment.")
            })??,
            None => origin.latest().await?,
        };
        let is_current = |index: &Arc<Index>| index.commit.rev == latest;
        if let Some(index) = known.as_ref().filter(|index| is_current(index)) {
            self.touch(did);
            return Ok(Arc::clone(index));
        }
        let _lock = self.lock(did).await?;
        // Another process may have done it meanwhile.
        let known = self.load(did).await?;
        if let Some(index) = known.as_ref().filter(|index| is_current(index)) {
            self.touch(did);
            return Ok(Arc::clone(index));
        }
        let since = known.map(|index| index.commit.rev.clone());
        let mut fetched = self.fetch(did, since.as_deref(), origin, progress).await;
        if let (Some(_), Err(Fault::Repository(error))) = (&since, &fetched)
            && !matches!(error, RepositoryError::Cache(_) | RepositoryError::OlderState)
        {
            tracing::info!(%error, "the changes to a repository cannot be used; all of it is fetched");
            fetched = self.fetch(did, None, origin, progress).await;
        }
        fetched?;
        self.load(did).await?.ok_or_else(|| RepositoryError::Cache(io::ErrorKind::NotFound.into()).into())
    }

    /// Fetches the repository, or what is new, and puts it into the cache.
    async fn fetch(
        &self,
        did: &str,
        since: Option<&str>,
        origin: &impl Origin,
        progress: Progress<'_>,
    ) -> Result<(), Fault> {
        let received = self.receive(origin.export(since).await?, progress).await?;
        let key = origin.key(false).await?;
        let commit = match received.verify(did, &key) {
            // The account may have a new key since its identity was looked up.
            Err(RepositoryError::ForgedSignature) => received.verify(did, &origin.key(true).await?)?,
            verified => verified?,
        };
        let (folder, place, changes_only) = (self.folder.clone(), self.file(did), since.is_some());
        blocking(move || {
            let known = KnownRecords::read(&place)?;
            if known.as_ref().is_some_and(|known| known.commit.rev > commit.rev) {
                return Err(RepositoryError::OlderState);
            }
            received.store(&commit, &folder, &place, known.as_ref().filter(|_| changes_only))
        })
        .await
    }

    async fn receive(&self, mut export: Export, progress: Progress<'_>) -> Result<Received, Fault> {
        let mut intake = Intake::new(&self.folder, self.limit)?;
        let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(PIECES);
        let work = tokio::task::spawn_blocking(move || {
            while let Some(piece) = receiver.blocking_recv() {
                intake.push(&piece)?;
            }
            Ok::<Intake, RepositoryError>(intake)
        });
        let (mut arrived, mut failure) = (0, None);
        progress(0, export.total).await;
        loop {
            match tokio::time::timeout(STALL, export.pieces.next()).await {
                Ok(None) => break,
                Ok(Some(Ok(piece))) => {
                    arrived += piece.len() as u64;
                    // The worker has stopped with an error, which it will tell.
                    if sender.send(piece).await.is_err() {
                        break;
                    }
                    progress(arrived, export.total).await;
                }
                Ok(Some(Err(error))) => {
                    failure = Some(error);
                    break;
                }
                Err(_) => {
                    failure = Some(
                        ToolError::network("The account's server stopped sending its repository.")
                            .hint("Try again in a moment."),
                    );
                    break;
                }
            }
        }
        drop(sender);
        let intake = work.await.map_err(|error| Fault::Tool(ToolError::masked(&error)))??;
        match failure {
            Some(error) => Err(Fault::Tool(error)),
            None => blocking(move || intake.finish()).await,
        }
    }

    /// The index of what is in the cache, if there is anything.
    async fn load(&self, did: &str) -> Result<Option<Arc<Index>>, ToolError> {
        let _one_at_a_time = self.loading.lock().await;
        let place = self.file(did);
        let in_memory = self.recall(did);
        let loaded = blocking(move || {
            let rev = super::snapshot::SnapshotReader::open(&place)?.map(|reader| reader.commit.rev);
            if in_memory.as_ref().map(|index| &index.commit.rev) == rev.as_ref() {
                return Ok(in_memory);
            }
            Ok(Index::read(&place)?.map(Arc::new))
        })
        .await?
        .filter(|index| index.commit.did == did);
        if let Some(index) = &loaded {
            self.remember(Arc::clone(index));
        }
        Ok(loaded)
    }

    fn recall(&self, did: &str) -> Option<Arc<Index>> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.iter().find(|index| index.commit.did == did).cloned()
    }

    fn remember(&self, index: Arc<Index>) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|other| other.commit.did != index.commit.did);
        loaded.insert(0, index);
        loaded.truncate(KEPT);
    }

    /// Waits until no other process fetches this account, and keeps others out until the file is dropped.
    async fn lock(&self, did: &str) -> Result<File, ToolError> {
        make_private(&self.folder).map_err(RepositoryError::Cache)?;
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.file(did).with_extension("lock")).map_err(RepositoryError::Cache)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                // Bounded by the time limit of the call; the system lets go of a dead process's locks.
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_INTERVAL).await,
                Err(TryLockError::Error(error)) => return Err(RepositoryError::Cache(error).into()),
            }
        }
    }

    fn file(&self, did: &str) -> PathBuf {
        self.folder.join(format!("{}.history", file_name(did)))
    }

    fn touch(&self, did: &str) {
        let touched = File::options()
            .write(true)
            .open(self.file(did))
            .and_then(|file| file.set_modified(SystemTime::now()));
        if let Err(error) = touched {
            tracing::warn!(%error, "the time of a history could not be noted");
        }
    }

    fn checked(&self, did: &str) -> Timestamp {
        let modified = fs::metadata(self.file(did)).and_then(|metadata| metadata.modified());
        modified.ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Notes who an account is, under both its names, for when nobody can be asked.
    pub fn note(&self, account: &KnownAccount) {
        for name in account.handle.iter().chain([&account.did]) {
            let place = self.folder.join(format!("{}.account", file_name(name)));
            let Ok(content) = serde_json::to_vec(account) else { return };
            if fs::read(&place).is_ok_and(|known| known == content) {
                continue;
            }
            let noted = make_private(&self.folder).and_then(|()| {
                let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
                io::Write::write_all(&mut file, &content)?;
                file.persist(&place).map_err(|error| error.error)
            });
            if let Err(error) = noted {
                tracing::warn!(%error, "an account could not be noted");
            }
        }
    }

    /// Who goes by a handle or DID, as far as was noted.
    pub fn noted(&self, name: &str) -> Option<KnownAccount> {
        let content = fs::read(self.folder.join(format!("{}.account", file_name(name)))).ok()?;
        let account: KnownAccount = serde_json::from_slice(&content).ok()?;
        (account.did == name || account.handle.as_deref() == Some(name)).then_some(account)
    }
}

/// A name for files that says nothing and fits everywhere.
fn file_name(of: &str) -> String {
    Sha256::digest(of.as_bytes())[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a folder that only the user can look into.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Why something could not be fetched: the repository is at fault, or the way to it.
enum Fault {
    Repository(RepositoryError),
    Tool(ToolError),
}

impl From<RepositoryError> for Fault {
    fn from(error: RepositoryError) -> Self {
        Fault::Repository(error)
    }
}

impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        Fault::Tool(error)
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Repository(error) => error.into(),
            Fault::Tool(error) => error,
        }
    }
}

/// Whether an error means that something outside is away, not that the call was wrong.
pub fn is_outage(error: &ToolError) -> bool {
    matches!(error.code(), Code::NetworkError | Code::ServerError)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RepositoryError> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(Fault::Repository),
        Err(panic) => Err(Fault::Tool(ToolError::masked(&panic))),
    }
}
