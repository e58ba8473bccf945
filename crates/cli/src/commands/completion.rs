use clap::Args;
use clap_complete::Shell;

use crate::failure::Result;

/// Print a shell completion script
///
/// For bash: `milepost completion bash > ~/.local/share/bash-completion/completions/milepost`
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Shell to complete in
    shell: Shell,
}

pub fn run(args: &CompletionArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::Cli::definition(), "milepost", &mut script);
    crate::output::print_data(&String::from_utf8_lossy(&script))
}
