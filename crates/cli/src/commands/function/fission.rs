//! Options of Fission's command line that have no effect here, so that its commands run as they are.

use clap::Args;

use crate::output::Ui;

/// Named on each option: as the next heading it would also hold the options that follow.
const HEADING: &str = "Fission options";

#[derive(Debug, Clone, Default, Args)]
pub struct FissionArgs {
    /// Fission's executor; accepted for compatibility, no effect
    #[arg(long, help_heading = HEADING, value_name = "TYPE", value_parser = ["poolmgr", "newdeploy"])]
    executortype: Option<String>,
    /// CPU request; accepted for compatibility, no effect
    #[arg(long, help_heading = HEADING, value_name = "MILLICORES")]
    mincpu: Option<u32>,
    /// Memory request; accepted for compatibility, no effect
    #[arg(long, help_heading = HEADING, value_name = "SIZE")]
    minmemory: Option<String>,
    /// CPU usage to scale at; accepted for compatibility, no effect
    #[arg(long, help_heading = HEADING, value_name = "PERCENT")]
    targetcpu: Option<u32>,
    /// Time limit of a start; accepted for compatibility, no effect
    #[arg(long, help_heading = HEADING, value_name = "SECONDS")]
    specializationtimeout: Option<u32>,
}

impl FissionArgs {
    /// Warns about options whose purpose is not met.
    pub fn warn_without_effect(&self, ui: &Ui) {
        let given = [
            ("--mincpu", self.mincpu.is_some()),
            ("--minmemory", self.minmemory.is_some()),
            ("--targetcpu", self.targetcpu.is_some()),
            ("--specializationtimeout", self.specializationtimeout.is_some()),
        ];
        for (option, _) in given.iter().filter(|(_, given)| *given) {
            ui.warn(&format!("`{option}` has no effect: instances are added while requests wait"));
        }
    }
}
