use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::make::lock_new;
use super::rename::exchange_in_steps;
use super::*;

const YES: Overwrite = Overwrite::Yes;
const NO: Overwrite = Overwrite::Unless("give --overwrite");

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_appears_when_it_is_committed_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv");
    let (aside, mut file) = AtomicWrite::file(&path, NO).unwrap();
    io::Write::write_all(&mut file, b"rows").unwrap();
    assert!(!path.exists() && aside.path().exists());
    aside.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"rows");
    assert_eq!(names(dir.path()), ["x.csv"]);
    let deep = dir.path().join("new/er/x");
    AtomicWrite::file(&deep, NO).unwrap().0.commit().unwrap();
    assert!(deep.exists());
    fs::remove_dir_all(dir.path().join("new")).unwrap();
    let error = AtomicWrite::file(&path, NO).unwrap_err().to_string();
    assert!(error.contains("the file exists") && error.contains("--overwrite"), "{error}");
    let (aside, _) = AtomicWrite::file(&path, YES).unwrap();
    drop(aside);
    assert_eq!((fs::read(&path).unwrap(), names(dir.path())), (b"rows".to_vec(), vec!["x.csv".into()]));
    AtomicWrite::file(&path, YES).unwrap().0.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn only_what_a_killed_writer_left_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let parent = dir.path().join("new");
    let path = parent.join(".x.partial-1");
    let remains = || Remains { path: path.clone(), parents: vec![parent.clone()] };
    // What the writer says of it.
    let said = || {
        let there = fs::metadata(&path).unwrap();
        format!("{} {}\n", there.dev(), there.ino())
    };
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("part"), "rows").unwrap();
    // Something else that has come to its place stays, and so does what nobody has said anything of, but for what is empty.
    let other = format!("{} 1\n", fs::metadata(&path).unwrap().dev());
    for said in [other.as_str(), "", "12", "12 13", "x 13\n"] {
        sweep(said.as_bytes(), remains());
        assert!(path.join("part").exists(), "{said:?}");
    }
    // What is locked stays: its writer is about to end, or it is somebody else's.
    let (of_writer, waits, said_of_it) = (File::open(&path).unwrap(), remains(), said());
    of_writer.lock().unwrap();
    let sweeping = std::thread::spawn(move || sweep(said_of_it.as_bytes(), waits));
    std::thread::sleep(Duration::from_millis(1200));
    assert!(path.join("part").exists());
    drop(of_writer);
    sweeping.join().unwrap();
    assert_eq!(names(dir.path()), [""; 0]);
    // The writer ended before it could say what it had made, or before it had made it.
    for make in [|path| fs::create_dir(path), |path| File::create(path).map(drop), |_| Ok(())] {
        fs::create_dir(&parent).unwrap();
        make(&path).unwrap();
        sweep(io::empty(), remains());
        assert_eq!(names(dir.path()), [""; 0]);
    }
    // Directories in which there is something else stay, and what is whole has another name.
    fs::create_dir(&parent).unwrap();
    fs::write(&path, "rows").unwrap();
    fs::write(parent.join("y"), "").unwrap();
    sweep(io::empty(), remains());
    assert_eq!(names(&parent), [".x.partial-1", "y"]);
    let said = said();
    for _ in 0..2 {
        sweep(said.as_bytes(), remains());
        assert_eq!(names(&parent), ["y"]);
    }
}

/// Writes a dataset of one file.
fn dataset(path: &Path, overwrite: Overwrite, file: &str) -> Result<()> {
    let aside = AtomicWrite::directory(path, overwrite)?;
    fs::write(aside.path().join(file), file).unwrap();
    fs::write(aside.path().join(manifest::FILE_NAME), "{}").unwrap();
    aside.commit()
}

#[test]
fn a_dataset_is_replaced_only_when_asked_and_only_if_it_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d");
    fs::create_dir(&path).unwrap();
    dataset(&path, NO, "a").unwrap();
    assert!(dataset(&path, NO, "b").unwrap_err().to_string().contains("not empty"));
    assert_eq!(names(&path), [manifest::FILE_NAME, "a"]);
    dataset(&path, YES, "b").unwrap();
    assert_eq!(names(&path), [manifest::FILE_NAME, "b"]);
    fs::remove_file(path.join(manifest::FILE_NAME)).unwrap();
    assert!(dataset(&path, YES, "c").unwrap_err().to_string().contains("no dataset"));
    assert!(AtomicWrite::file(&path, YES).unwrap_err().to_string().contains("is a directory"));
    fs::write(dir.path().join("f"), "").unwrap();
    assert!(dataset(&dir.path().join("f"), YES, "c").unwrap_err().to_string().contains("is a file"));
    assert_eq!(names(dir.path()), ["d", "f"]);
}

#[test]
fn the_slow_way_to_exchange_leaves_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    fs::create_dir(&a).unwrap();
    fs::create_dir(&b).unwrap();
    fs::write(a.join("new"), "").unwrap();
    exchange_in_steps(&a, &b).unwrap();
    assert_eq!((names(&a), names(&b), names(dir.path()).len()), (vec![], vec!["new".to_string()], 2));
}

#[test]
fn remains_are_removed_and_work_in_progress_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d");
    let working = AtomicWrite::directory(&path, NO).unwrap();
    let busy = working.path().with_file_name(".d.partial-1");
    fs::rename(working.path(), &busy).unwrap();
    let remains = dir.path().join(".d.partial-2");
    fs::create_dir(&remains).unwrap();
    fs::write(remains.join("part"), "half").unwrap();
    fs::write(dir.path().join(".d.partial-3x"), "somebody's own").unwrap();
    let next = AtomicWrite::directory(&path, NO).unwrap();
    assert!(busy.exists() && !remains.exists() && next.path().exists());
    drop(next);
    drop(working);
    assert_eq!(names(dir.path()), [".d.partial-1", ".d.partial-3x"]);
}

#[test]
fn who_takes_part_removes_the_directories_above_too() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(AtomicWrite::directory(&dir.path().join("new/er/d"), NO).unwrap().parents(), 2);
    assert_eq!(names(dir.path()), Vec::<String>::new());
    let path = dir.path().join("kept/new/er/.d.partial-1");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("part"), "half").unwrap();
    fs::write(dir.path().join("kept/x"), "").unwrap();
    adopt(&path, 3);
    let adopted = partials().iter().rposition(|partial| partial.path == path).unwrap();
    let adopted = partials().remove(adopted);
    adopted.remove();
    assert_eq!(names(&dir.path().join("kept")), ["x"], "something else has come into it");
    // Another process has removed it already.
    adopted.remove();
}

#[test]
fn a_link_stays_and_what_it_points_to_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("real")).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink("real/x", &link).unwrap();
    fs::write(dir.path().join("real/x"), "old").unwrap();
    AtomicWrite::file(&link, YES).unwrap().0.commit().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(&dir.path().join("real")), ["x"]);
}

#[test]
fn only_what_is_being_written_is_taken_from_another_process() {
    let home = tempfile::tempdir().unwrap();
    let (destination, other) = (home.path().join("data"), home.path().join("other"));
    fs::create_dir(&other).unwrap();
    let aside = AtomicWrite::directory(&destination, Overwrite::Yes).unwrap();
    check_partial(aside.path(), &destination).unwrap();
    for wrong in [other, destination.clone(), home.path().join(".other.partial-1"), "/".into()] {
        assert!(check_partial(&wrong, &destination).is_err(), "{}", wrong.display());
    }
}

#[test]
fn a_directory_that_somebody_else_removed_meanwhile_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    for (name, kind) in [("a/b/file", Kind::File), ("c/d/directory", Kind::Directory)] {
        let path = home.path().join(name);
        assert!(lock_new(&path, kind, kind.usual_mode()).is_ok() && path.exists(), "{name}");
    }
    fs::write(home.path().join("e"), "").unwrap();
    assert!(lock_new(&home.path().join("e/file"), Kind::File, 0o666).is_err(), "a file is no directory");
}

#[test]
fn what_is_replaced_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (file, set_of) = (dir.path().join("x.csv"), dir.path().join("set"));
    AtomicWrite::file(&file, NO).unwrap().0.commit().unwrap();
    dataset(&set_of, NO, "1").unwrap();
    let usual = (mode(&file), mode(&set_of));
    for wanted in [0o600, 0o640, 0o666, 0o400] {
        set(&file, wanted);
        let (aside, _) = AtomicWrite::file(&file, YES).unwrap();
        assert_eq!(mode(aside.path()) & 0o77 & !wanted, 0, "who may not read it may not before either");
        aside.commit().unwrap();
        assert_eq!(mode(&file), wanted);
    }
    for wanted in [0o700, 0o2750, 0o777] {
        set(&set_of, wanted);
        dataset(&set_of, YES, "2").unwrap();
        assert_eq!(mode(&set_of), wanted);
    }
    // One without files is replaced by a rename.
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    set(&empty, 0o700);
    dataset(&empty, NO, "1").unwrap();
    assert_eq!(mode(&empty), 0o700);
    // What is new has those of the system.
    let (file, set_of) = (dir.path().join("y.csv"), dir.path().join("other"));
    AtomicWrite::file(&file, YES).unwrap().0.commit().unwrap();
    dataset(&set_of, YES, "1").unwrap();
    assert_eq!((mode(&file), mode(&set_of)), usual);
}

#[test]
fn what_is_in_a_new_directory_is_as_closed_as_what_was_in_the_old_one() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("set");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // Writes a tree, and tells the modes of its parts while they are written and at the end.
    let write = |overwrite| {
        let aside = AtomicWrite::directory(&top, overwrite).unwrap();
        let part = aside.path().join("a=1/part-0");
        fs::create_dir(part.parent().unwrap()).unwrap();
        for path in [aside.path().join(manifest::FILE_NAME), part.clone()] {
            fs::write(&path, "{}").unwrap();
            set(&path, 0o644);
        }
        set(part.parent().unwrap(), 0o755);
        let written = mode(aside.path());
        aside.commit().unwrap();
        (written, [".", "a=1", manifest::FILE_NAME, "a=1/part-0"].map(|name| mode(&top.join(name))))
    };
    let usual = write(NO).1;
    set(&top, 0o755);
    // What the old one has, and then what the new one has.
    for (old, written, new) in [
        // A file that all may read does not open the others.
        ([0o755, 0o755, 0o644, 0o600], 0o700, [0o755, 0o755, 0o600, 0o600]),
        ([0o755, 0o700, 0o600, 0o600], 0o700, [0o755, 0o700, 0o600, 0o600]),
        ([0o755, 0o700, 0o644, 0o644], 0o700, [0o755, 0o700, 0o644, 0o644]),
        ([0o755, 0o750, 0o640, 0o644], 0o750, [0o755, 0o750, 0o640, 0o640]),
        // None gets more than the usual permissions.
        ([0o777, 0o777, 0o666, 0o666], 0o777, [0o777, 0o755, 0o644, 0o644]),
        ([0o755, 0o755, 0o444, 0o644], 0o755, [0o755, 0o755, 0o444, 0o444]),
    ] {
        for (name, mode) in [".", "a=1", manifest::FILE_NAME, "a=1/part-0"].into_iter().zip(old) {
            set(&top.join(name), mode);
        }
        let found = write(YES);
        // The system may take more away while it is written.
        assert_eq!((found.0 & !written, found.1), (0, new), "{old:?}");
        assert_eq!(names(dir.path()), ["set"]);
    }
    // A directory in which there is nothing says nothing of files, and neither does a link.
    fs::remove_dir_all(&top).unwrap();
    fs::create_dir(&top).unwrap();
    assert_eq!(write(NO).1[1..], usual[1..]);
    std::os::unix::fs::symlink("/dev/null", top.join("link")).unwrap();
    assert_eq!(write(YES).1[1..], usual[1..]);
}

#[test]
fn pipes_and_links_in_the_place_of_something_half_written_are_let_be() {
    use std::os::unix::fs::FileTypeExt;

    let dir = tempfile::tempdir().unwrap();
    let (pipe, link) = (dir.path().join(".x.csv.partial-1"), dir.path().join(".x.csv.partial-2"));
    let name = std::ffi::CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name is a valid C string for the length of the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    let path = dir.path().join("x.csv");
    AtomicWrite::file(&path, NO).unwrap().0.commit().unwrap();
    assert!(
        path.is_file() && fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo() && link.is_symlink()
    );
    // One that has the number of this process.
    let own = dir.path().join(format!(".y.csv.partial-{}", std::process::id()));
    fs::rename(&pipe, own).unwrap();
    let error = AtomicWrite::file(&dir.path().join("y.csv"), NO).unwrap_err().to_string();
    assert!(error.contains("cannot create"), "{error}");
}

/// Keeps what it is given, and refuses what has one of these words in its name.
#[derive(Default)]
struct Kept {
    files: std::sync::Mutex<std::collections::BTreeMap<String, Vec<u8>>>,
    refused: &'static str,
}

impl remote::Store for Kept {
    fn list(&self, prefix: &str) -> io::Result<Vec<remote::Object>> {
        let files = self.files.lock().unwrap();
        let below = files.iter().filter(|(name, _)| name.starts_with(prefix));
        let object = |(name, bytes): (&String, &Vec<u8>)| remote::Object {
            name: name.clone(),
            bytes: bytes.len() as u64,
            modified_ns: 1,
        };
        Ok(below.map(object).collect())
    }

    fn stat(&self, name: &str) -> io::Result<Option<remote::Object>> {
        Ok(self.list(name)?.into_iter().find(|object| object.name == name))
    }

    fn read(&self, _name: &str, _range: std::ops::Range<u64>) -> io::Result<bytes::Bytes> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn takes_files(&self) -> bool {
        true
    }

    fn put(&self, name: &str, file: &Path) -> io::Result<()> {
        if !self.refused.is_empty() && name.contains(self.refused) {
            panic!("the store panics");
        }
        self.files.lock().unwrap().insert(name.to_string(), fs::read(file)?);
        Ok(())
    }
}

#[test]
fn what_is_put_into_a_store_is_removed_here() {
    use std::os::unix::fs::PermissionsExt;

    let store = std::sync::Arc::new(Kept { refused: "bad", ..Kept::default() });
    remote::register("kept", store.clone());
    let (there, here) = (Path::new("kept://d/x.csv"), |aside: &AtomicWrite| aside.path().to_path_buf());
    let begin = || AtomicWrite::file(there, NO).unwrap();
    let (aside, mut file) = begin();
    let first = here(&aside);
    assert!(first.starts_with(temporary_directory()) && aside.is_in_store() && aside.destination() == there);
    assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o077, 0, "others may not read it");
    let error = AtomicWrite::file(there, NO).unwrap_err();
    assert!(matches!(error, Error::BeingWritten { .. }), "{error}");
    drop(aside);
    assert!(!first.exists() && store.files.lock().unwrap().is_empty());
    // What a process that was killed left of the same file is removed by the next one that writes it.
    let left = first.with_extension("partial-1");
    fs::write(&left, "half").unwrap();
    let (aside, mut again) = begin();
    assert!(!left.exists());
    io::Write::write_all(&mut file, b"lost").unwrap();
    io::Write::write_all(&mut again, b"rows").unwrap();
    aside.commit().unwrap();
    assert!(!first.exists());
    assert_eq!(store.files.lock().unwrap()["d/x.csv"], b"rows");
    // It has come while another was written.
    let (late, _) = AtomicWrite::file(Path::new("kept://late"), NO).unwrap();
    store.files.lock().unwrap().insert("late".into(), b"first".to_vec());
    assert!(late.commit().unwrap_err().to_string().contains("the file exists"));
    assert_eq!(store.files.lock().unwrap()["late"], b"first");
}

#[test]
fn a_directory_of_which_a_store_takes_a_part_tells_so() {
    let write = |to: &str, files: &[&str]| {
        let aside = AtomicWrite::directory(Path::new(to), NO)?;
        for file in files {
            let path = aside.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let here = aside.path().to_path_buf();
        let done = aside.commit();
        assert!(!here.exists());
        done
    };
    let store = std::sync::Arc::new(Kept { refused: "c", ..Kept::default() });
    remote::register("part", store.clone());
    let error = write("part://d/", &["b/c", manifest::FILE_NAME]).unwrap_err().to_string();
    let expected = "part://d: only 1 of 2 files were written into the store: part://d/b/c: cannot write: the store \
                    panics\n  help: remove them";
    assert!(error.starts_with(expected), "{error}");
    assert!(store.files.lock().unwrap().keys().eq(["d/_manifest.json"]));
    assert!(write("part://d/", &["a"]).unwrap_err().to_string().contains("nothing can be removed"));
    write("part://e", &["a"]).unwrap();
}

#[test]
fn a_store_that_says_nothing_of_writing_is_read_only_before_anything_is_written() {
    struct ReadOnly;

    impl remote::Store for ReadOnly {
        fn list(&self, _prefix: &str) -> io::Result<Vec<remote::Object>> {
            Ok(Vec::new())
        }

        fn stat(&self, _name: &str) -> io::Result<Option<remote::Object>> {
            Ok(None)
        }

        fn read(&self, _name: &str, _range: std::ops::Range<u64>) -> io::Result<bytes::Bytes> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    remote::register("closed", std::sync::Arc::new(ReadOnly));
    let expected =
        "closed://x: this store is read only\n  help: write to a directory here, or to another store";
    assert_eq!(AtomicWrite::file(Path::new("closed://x"), NO).unwrap_err().to_string(), expected);
    assert_eq!(AtomicWrite::directory(Path::new("closed://x/"), NO).unwrap_err().to_string(), expected);
    for path in ["closed://", "closed:///", "closed://x/"] {
        let error = AtomicWrite::file(Path::new(path), NO).unwrap_err().to_string();
        assert!(error.contains("give the name of a file"), "{error}");
    }
}
