//! What the event generator is given for a run by cards, as JSON.
use mebridge_run::{cards::Cards, plan::Plan, spec::*};
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut changed = Vec::new();
    let (mut folder, mut pdf_data, mut model, mut run_card, mut param_card) =
        (None, None, None, None, None);
    let mut rest = arguments[1..].iter();
    while let Some(word) = rest.next() {
        let value = rest.next().unwrap();
        match word.as_str() {
            "--set" => {
                let (a, b) = value.split_once('=').unwrap();
                changed.push((a.to_owned(), b.to_owned()));
            }
            "--folder" => folder = Some(value.into()),
            "--pdf-data" => pdf_data = Some(value.into()),
            "--model" => model = Some(value.into()),
            "--run-card" => run_card = Some(value.into()),
            "--param-card" => param_card = Some(value.into()),
            _ => {}
        }
    }
    let spec = RunSpec {
        process: arguments[0].clone(),
        conditions: Conditions::RunCard {
            file: run_card,
            changed,
            changed_files: false,
            pdf_data,
            folder,
        },
        model,
        param_card,
        ..RunSpec::default()
    };
    let cards = Cards::read(&spec).unwrap_or_else(|e| {
        println!("{{\"error\": {:?}}}", e.to_string());
        std::process::exit(1)
    });
    let plan = Plan::of_cards(&cards, &spec, 1).unwrap_or_else(|e| {
        println!("{{\"error\": {:?}}}", e.to_string());
        std::process::exit(1)
    });
    println!(
        "{}",
        serde_json::json!({"run": plan.request, "notices": plan.notices, "conditions": plan.conditions, "head": plan.head})
    );
}
