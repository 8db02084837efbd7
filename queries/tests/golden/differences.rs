//! Which lines of a text are others than before.

/// Lines that are equal around those that differ.
const AROUND: usize = 2;

/// The lines that are no more with `-`, the new ones with `+`, and some equal ones around them.
pub fn of_lines(before: &str, after: &str) -> String {
    let lines = compared(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let differs = |at: usize| lines.get(at).is_some_and(|line| !line.starts_with(' '));
    let is_near = |at: usize| (at.saturating_sub(AROUND)..=at + AROUND).any(differs);
    let mut text = String::new();
    let mut is_cut = false;
    for (at, line) in lines.iter().enumerate() {
        if is_near(at) {
            text += &format!("{line}\n");
        } else if !is_cut {
            text += "…\n";
        }
        is_cut = !is_near(at);
    }
    text
}

/// All lines of both, by their longest common subsequence.
fn compared(before: &[&str], after: &[&str]) -> Vec<String> {
    // The length of the longest common subsequence of what begins at two places.
    let mut common = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i][j] = match before[i] == after[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            lines.push(format!("  {}", before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len() || (i < before.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(format!("- {}", before[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", after[j]));
            j += 1;
        }
    }
    lines
}

#[test]
fn lines_that_differ_are_shown() {
    let before = "a\nb\nc\nd\ne\nf\ng\n";
    let after = "a\nb\nc\nd\nE\nf\ng\nh\n";
    assert_eq!(of_lines(before, after), "…\n  c\n  d\n- e\n+ E\n  f\n  g\n+ h\n");
    assert_eq!(of_lines("", "a\n"), "+ a\n");
}
