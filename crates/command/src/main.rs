//! The program `mebridge`.

fn main() -> std::process::ExitCode {
    mebridge_command::main()
}
