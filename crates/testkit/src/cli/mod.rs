//! A hermetic environment to run `milepost` in: its own home, a cleared environment, fixed ids and
//! times.
//!
//! ```no_run
//! let env = milepost_testkit::cli::CliEnv::new();
//! env.write_file("milepost.yaml", "app: shop\n");
//! let server = env.server();
//! let output = env.run(&["deploy"]);
//! assert_eq!(output.snapshot(), "$ milepost deploy\n…");
//! ```

mod env;
mod normalize;
mod output;
mod server;

pub use env::CliEnv;
pub use output::Output;
pub use server::Server;
