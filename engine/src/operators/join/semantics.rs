//! Which rows a join gives.

use queries::plan::{JoinType, Side};

/// Which rows a join gives, said of the build and the probe side.
#[derive(Debug, Clone, Copy, Default)]
pub struct JoinSemantics {
    /// Pairs of rows that match.
    pub pairs: bool,
    /// Probe rows without a match.
    pub probe_unmatched: bool,
    /// Build rows without a match.
    pub build_unmatched: bool,
    /// Probe rows with a match.
    pub probe_matched: bool,
    /// Build rows with a match.
    pub build_matched: bool,
    /// All probe rows, and whether each has a match.
    pub probe_marked: bool,
    /// All build rows, and whether each has a match.
    pub build_marked: bool,
}

impl JoinSemantics {
    /// Of a join of this kind whose build side is `build`.
    pub fn new(kind: JoinType, build: Side) -> JoinSemantics {
        let left_builds = build == Side::Left;
        let none = JoinSemantics::default();
        match kind {
            JoinType::Inner => JoinSemantics { pairs: true, ..none },
            JoinType::Full => {
                JoinSemantics { pairs: true, probe_unmatched: true, build_unmatched: true, ..none }
            }
            JoinType::Left => JoinSemantics {
                pairs: true,
                build_unmatched: left_builds,
                probe_unmatched: !left_builds,
                ..none
            },
            JoinType::Right => JoinSemantics {
                pairs: true,
                build_unmatched: !left_builds,
                probe_unmatched: left_builds,
                ..none
            },
            JoinType::LeftSemi => {
                JoinSemantics { build_matched: left_builds, probe_matched: !left_builds, ..none }
            }
            JoinType::RightSemi => {
                JoinSemantics { build_matched: !left_builds, probe_matched: left_builds, ..none }
            }
            JoinType::LeftAnti => {
                JoinSemantics { build_unmatched: left_builds, probe_unmatched: !left_builds, ..none }
            }
            JoinType::RightAnti => {
                JoinSemantics { build_unmatched: !left_builds, probe_unmatched: left_builds, ..none }
            }
            JoinType::LeftMark => {
                JoinSemantics { build_marked: left_builds, probe_marked: !left_builds, ..none }
            }
            JoinType::RightMark => {
                JoinSemantics { build_marked: !left_builds, probe_marked: left_builds, ..none }
            }
        }
    }

    /// Whether probe rows are given, alone or in pairs.
    pub fn probe_rows(self) -> bool {
        self.pairs || self.probe_unmatched || self.probe_matched || self.probe_marked
    }

    /// Whether which build rows have met their like matters.
    pub fn build_rows(self) -> bool {
        self.build_unmatched || self.build_matched || self.build_marked
    }
}
