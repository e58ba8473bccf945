//! A model of what an installation must respond, without views: releases, pointers, and everything
//! that moves them.

use std::collections::BTreeMap;

use proptest::prelude::*;

/// The second name can also be read as tag `beta` of the first app.
pub const APPS: [&str; 3] = ["shop", "beta--shop", "cart"];
pub const TAGS: [&str; 2] = ["beta", "stable"];
/// Variants of the static item, and of the functions with their routes. A release has one of each.
pub const SITES: usize = 3;
pub const CODES: usize = 4;
/// The limit of active releases of an app.
const PLAN: usize = 4;

/// A user's action. Releases are chosen by their index among the active ones.
#[derive(Debug, Clone)]
pub enum Step {
    Create(usize),
    Deploy(usize, Content),
    /// Creates a release with the content of an earlier one, which may have expired.
    Again(usize, usize),
    Live(usize, usize),
    Follow(usize),
    Tag(usize, usize, usize),
    Untag(usize, usize),
    Expire(usize, usize),
    Delete(usize),
    /// Changes nothing, but publishes an outdated view.
    Late(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content {
    pub site: usize,
    pub code: usize,
}

pub fn any_step() -> impl Strategy<Value = Step> {
    let app = || prop_oneof![3 => Just(0), 1 => Just(1), 1 => Just(2)];
    let content = (0..SITES, 0..CODES).prop_map(|(site, code)| Content { site, code });
    prop_oneof![
        1 => app().prop_map(Step::Create),
        6 => (app(), content).prop_map(|(app, content)| Step::Deploy(app, content)),
        2 => (app(), 0_usize..20).prop_map(|(app, which)| Step::Again(app, which)),
        4 => (app(), 0..PLAN).prop_map(|(app, which)| Step::Live(app, which)),
        2 => app().prop_map(Step::Follow),
        3 => (app(), 0..TAGS.len(), 0..PLAN).prop_map(|(app, tag, which)| Step::Tag(app, tag, which)),
        1 => (app(), 0..TAGS.len()).prop_map(|(app, tag)| Step::Untag(app, tag)),
        2 => (app(), 0..PLAN).prop_map(|(app, which)| Step::Expire(app, which)),
        1 => app().prop_map(Step::Delete),
        2 => app().prop_map(Step::Late),
    ]
}

impl Step {
    /// The app that the step acts on.
    pub fn app(&self) -> &'static str {
        let (Self::Create(app)
        | Self::Deploy(app, _)
        | Self::Again(app, _)
        | Self::Live(app, _)
        | Self::Follow(app)
        | Self::Tag(app, ..)
        | Self::Untag(app, _)
        | Self::Expire(app, _)
        | Self::Delete(app)
        | Self::Late(app)) = self;
        APPS[*app]
    }
}

#[derive(Debug, Clone)]
pub struct Release {
    pub id: String,
    pub content: Content,
    /// When it expired, as responses show it.
    pub expired: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct App {
    /// The newest last.
    pub releases: Vec<Release>,
    pub tags: BTreeMap<&'static str, usize>,
    pinned: Option<usize>,
}

impl App {
    pub fn latest(&self) -> Option<usize> {
        self.active().last()
    }

    pub fn live(&self) -> Option<usize> {
        self.pinned.or_else(|| self.latest())
    }

    fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.releases.len()).filter(|at| self.releases[*at].expired.is_none())
    }

    fn nth_active(&self, which: usize) -> Option<usize> {
        self.active().nth(which % self.active().count().max(1))
    }

    fn is_protected(&self, at: usize) -> bool {
        self.live() == Some(at) || self.tags.values().any(|tagged| *tagged == at)
    }

    fn release(&mut self, id: String, content: Content, now: &str) {
        if self.active().count() >= PLAN {
            // If live follows, it moves to the new release, so the release that it leaves may
            // expire.
            let kept = |at: usize| self.pinned == Some(at) || self.tags.values().any(|tagged| *tagged == at);
            let Some(oldest) = self.active().find(|at| !kept(*at)) else { return };
            self.releases[oldest].expired = Some(now.to_owned());
        }
        self.releases.push(Release { id, content, expired: None });
    }
}

/// What an address leads to: a release's id, its expiry time, or a problem's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Release(String),
    Expired(String),
    Nothing(String),
}

/// A way to address a release.
#[derive(Debug, Clone)]
pub enum Asked {
    /// `LABEL.localhost`
    Label(String),
    /// `APP.NAME.localhost`
    Two(&'static str, String),
    /// By a call token, whatever the host is.
    Call(&'static str, String),
    /// A host outside of the gateway's domain, or without an app.
    Elsewhere(&'static str),
}

/// The installation at one moment.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub apps: BTreeMap<&'static str, App>,
}

impl State {
    /// Returns the state after a step, which happens at the moment `number`.
    pub fn after(&self, step: &Step, number: usize) -> Self {
        let mut next = self.clone();
        let now = format!("2026-01-02T03:{:02}:{:02}Z", number / 60, number % 60);
        let (name, id) = (step.app(), format!("r{number}"));
        match step {
            Step::Delete(_) => {
                next.apps.remove(name);
            }
            Step::Create(_) => {
                next.apps.entry(name).or_default();
            }
            Step::Deploy(_, content) => next.apps.entry(name).or_default().release(id, *content, &now),
            _ => {
                if let Some(app) = next.apps.get_mut(name) {
                    move_in(app, step, id, &now);
                }
            }
        }
        next
    }

    pub fn tells(&self, asked: &Asked) -> Told {
        match asked {
            Asked::Elsewhere(_) => Told::Nothing("no_app".to_owned()),
            Asked::Two(app, name) | Asked::Call(app, name) => self.tells_of(app, name),
            Asked::Label(label) => {
                // First as an app, then as a release of an app, the shortest release name first. If
                // none exists, the best reason is reported.
                let mut all = vec![self.tells_of(label, "live")];
                all.extend(label.match_indices("--").map(|(at, _)| self.tells_of(&label[at + 2..], &label[..at])));
                let weight = |told: &Told| match told {
                    Told::Release(_) => 0,
                    Told::Expired(_) => 1,
                    Told::Nothing(code) if code != "unknown_app" => 2,
                    Told::Nothing(_) => 3,
                };
                all.into_iter().min_by_key(weight).expect("there is at least the app itself")
            }
        }
    }

    fn tells_of(&self, app: &str, name: &str) -> Told {
        let nothing = |code: &str| Told::Nothing(code.to_owned());
        let Some(app) = self.apps.get(app) else { return nothing("unknown_app") };
        let at = match name {
            "live" | "latest" => {
                let Some(at) = (if name == "live" { app.live() } else { app.latest() }) else {
                    return nothing("no_release");
                };
                Some(at)
            }
            tag if app.tags.contains_key(tag) => Some(app.tags[tag]),
            id => app.releases.iter().position(|release| release.id == id),
        };
        match at.map(|at| &app.releases[at]) {
            None => nothing("unknown_release"),
            Some(Release { expired: Some(at), .. }) => Told::Expired(at.clone()),
            Some(release) => Told::Release(release.id.clone()),
        }
    }
}

fn move_in(app: &mut App, step: &Step, id: String, now: &str) {
    match *step {
        Step::Again(_, which) if !app.releases.is_empty() => {
            let content = app.releases[which % app.releases.len()].content;
            app.release(id, content, now);
        }
        Step::Live(_, which) => app.pinned = app.nth_active(which),
        Step::Follow(_) => app.pinned = None,
        Step::Tag(_, tag, which) => {
            if let Some(at) = app.nth_active(which) {
                app.tags.insert(TAGS[tag], at);
            }
        }
        Step::Untag(_, tag) => {
            app.tags.remove(TAGS[tag]);
        }
        Step::Expire(_, which) => {
            if let Some(at) = app.nth_active(which).filter(|at| !app.is_protected(*at)) {
                app.releases[at].expired = Some(now.to_owned());
            }
        }
        _ => {}
    }
}
