use clap::Args;
use clap_complete::Shell;

use crate::failure::Result;

/// Print a shell completion script
///
/// Completes commands, options, and the names of apps, functions, versions, releases and tags, which
/// the server is asked for. Load it when the shell starts:
///
/// bash: `echo 'source <(milepost completion bash)' >> ~/.bashrc`
///
/// zsh: `echo 'source <(milepost completion zsh)' >> ~/.zshrc`
///
/// fish: `echo 'milepost completion fish | source' > ~/.config/fish/completions/milepost.fish`
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Shell to complete in
    shell: Shell,
}

pub fn run(args: &CompletionArgs) -> Result<()> {
    crate::output::print_data(&crate::complete::script(args.shell)?)
}
