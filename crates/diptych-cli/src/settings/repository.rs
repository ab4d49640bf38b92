//! The git repository that the working folder is in: what a project is called unless somebody says otherwise.

use std::path::Path;

/// More characters than this are no name for a project.
const LONGEST: usize = 200;

/// The name of the repository's folder, if we are in one.
pub(super) fn name() -> Option<String> {
    name_at(&std::env::current_dir().ok()?)
}

fn name_at(folder: &Path) -> Option<String> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    // A further working tree of a repository has its memories in common with it.
    let main = std::fs::read_to_string(root.join(".git")).ok().and_then(|text| {
        let place = text.trim().strip_prefix("gitdir:")?.trim().replace('\\', "/");
        place.split_once("/.git/worktrees/").map(|(main, _)| root.join(main))
    });
    let name = main.as_deref().unwrap_or(root).file_name()?.to_string_lossy().into_owned();
    let usable = name.chars().count() <= LONGEST && !name.chars().any(char::is_control);
    usable.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_repository_has_the_name_of_its_folder_wherever_one_stands_in_it() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("orchard/src/deep");
        fs::create_dir_all(&inside).unwrap();
        assert_eq!(name_at(&inside), None);
        fs::create_dir(home.path().join("orchard/.git")).unwrap();
        assert_eq!(name_at(&inside).as_deref(), Some("orchard"));
        assert_eq!(name_at(&home.path().join("orchard")).as_deref(), Some("orchard"));
    }

    #[test]
    fn a_further_working_tree_belongs_to_its_repository_and_a_submodule_to_itself() {
        let home = tempfile::tempdir().unwrap();
        for (folder, place, name) in [
            ("orchard-fix", "orchard/.git/worktrees/orchard-fix", "orchard"),
            ("ladder", "orchard/.git/modules/ladder", "ladder"),
        ] {
            let folder = home.path().join(folder);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(".git"), format!("gitdir: {}\n", home.path().join(place).display()))
                .unwrap();
            assert_eq!(name_at(&folder).as_deref(), Some(name));
        }
    }
}
