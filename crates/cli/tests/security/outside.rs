//! Deploying a folder from another author does not publish the deploying user's files.

use std::fs;
use std::os::unix::fs::symlink;

use milepost_testkit::cli::CliEnv;

use crate::common::World;

fn refused(world: &World, line: &str) -> String {
    let output = world.run(line);
    assert!(!output.succeeded(), "`{line}` was not refused:\n{}", output.stdout);
    output.stderr
}

fn fission(rootdir: &str, include: &str) -> String {
    format!(
        "kind: ArchiveUploadSpec\nname: code\nrootdir: {rootdir}\ninclude: [\"{include}\"]\n---\napiVersion: fission.io/v1\nkind: Package\n\
         metadata: {{ name: p }}\nspec:\n  environment: {{ name: python }}\n  deployment: {{ type: url, url: \"archive://code\" }}\n"
    )
}

#[test]
fn a_manifest_publishes_no_file_outside_of_its_folder() {
    let world = World::new();
    let token = world.env.data_dir().join("admin.token").display().to_string();
    world.env.write_file("outer.txt", "outer");
    world.env.write_file("app/inner/a.txt", "inner");
    symlink("/etc", world.env.work_dir().join("app/etc")).unwrap();
    symlink("..", world.env.work_dir().join("app/up")).unwrap();
    symlink("inner", world.env.work_dir().join("app/within")).unwrap();
    for src in [token.as_str(), "../outer.txt", "..", "/etc/passwd", "etc", "up/outer.txt", "inner/../../outer.txt"] {
        for manifest in [
            format!("app: shop\nstatic:\n  - src: \"{src}\"\n    path: /t\n"),
            format!("app: shop\npackages:\n  p: {{ env: python,\n    src: \"{src}\" }}\n"),
            format!("app: shop\nfunctions:\n  f:\n    {{ env: python, src: \"{src}\" }}\n"),
            format!("app: shop\npackages:\n  p: {{ env: python,\n    deploy: \"{src}\" }}\n"),
        ] {
            world.env.write_file("app/milepost.yaml", &manifest);
            for line in ["deploy app", "deploy app --dry-run", "up app --no-logs"] {
                let said = refused(&world, line);
                assert!(said.contains("is outside of the folder being deployed"), "{line} of {manifest}:\n{said}");
                assert!(said.contains("app/milepost.yaml:") && said.contains("--allow-outside"), "{said}");
            }
        }
    }
    assert!(world.run("app get shop").stderr.contains("app `shop` does not exist"), "an app was made");
    world.env.write_file("app/milepost.yaml", "app: shop\nstatic:\n  - { src: ../outer.txt, path: /t }\n");
    world.ok("deploy app --allow-outside");
    // Paths that leave the folder and return are accepted.
    world.env.write_file(
        "app/milepost.yaml",
        "app: shop\nstatic:\n  - { src: within, path: /t }\n  - { src: ../app/inner, path: /u }\n",
    );
    world.ok("deploy app");
}

#[test]
fn a_folder_of_specs_publishes_no_file_outside_of_its_project() {
    let world = World::new();
    world.env.write_file("outer.py", "outer");
    world.env.write_file("app/inner.py", "def main():\n    return 'inner'\n");
    symlink("..", world.env.work_dir().join("app/up")).unwrap();
    for (rootdir, include) in
        [("..", "*.py"), ("/etc", "passwd"), ("up", "outer.py"), (".", "up/outer.py"), (".", "../outer.py")]
    {
        world.env.write_file("app/specs/a.yaml", fission(rootdir, include));
        for line in [
            "spec version apply --specdir app/specs",
            "spec version validate --specdir app/specs",
            "import --specdir app/specs",
        ] {
            let said = refused(&world, line);
            let says = ["is outside of the folder", "nothing fits", "it leaves the folder"]
                .iter()
                .any(|text| said.contains(text));
            assert!(says && said.contains("app/specs/a.yaml:"), "{line} with {rootdir} {include}:\n{said}");
        }
    }
    world.env.write_file("app/specs/a.yaml", fission("..", "outer.py"));
    world.ok("spec version apply --specdir app/specs --allow-outside");
    // Archives start at the parent of the specs.
    world.env.write_file("app/specs/a.yaml", fission(".", "*.py"));
    world.ok("spec version apply --specdir app/specs");
}

#[test]
fn in_a_git_repository_its_root_is_the_bound() {
    let world = World::new();
    world.env.write_file("secret.txt", "secret");
    world.env.write_file("repo/.git/config", "[core]\n");
    world.env.write_file("repo/shared/lib.py", "x = 1\n");
    let manifest = |src: &str| format!("app: shop\nstatic:\n  - {{ src: \"{src}\", path: /t }}\n");
    world.env.write_file("repo/apps/one/milepost.yaml", manifest("../../shared"));
    world.ok("deploy repo/apps/one");
    for src in ["../../../secret.txt", "../../../", "../../.git", "../../.git/config"] {
        world.env.write_file("repo/apps/one/milepost.yaml", manifest(src));
        let said = refused(&world, "deploy repo/apps/one");
        assert!(said.contains("is outside of the git repository") || said.contains("is in `.git`"), "{src}: {said}");
    }
}

/// Some users keep their settings in a repository whose root is their home folder.
#[test]
fn a_repository_around_the_home_or_the_data_folder_is_no_bound() {
    let manifest = |src: &str| format!("app: shop\nstatic:\n  - {{ src: \"{src}\", path: /t }}\n");
    let world = World::new();
    fs::create_dir(world.env.home().join(".git")).unwrap();
    fs::create_dir(world.env.home().join(".ssh")).unwrap();
    fs::write(world.env.home().join(".ssh/id_ed25519"), "private").unwrap();
    for src in ["../../.ssh/id_ed25519", "../../.ssh", "../..", "../../data/admin.token"] {
        world.env.write_file("app/milepost.yaml", manifest(src));
        for line in ["deploy app", "deploy app --dry-run"] {
            let said = refused(&world, line);
            assert!(said.contains("is outside of the folder being deployed"), "{src}: {said}");
        }
    }
    world.env.write_file("app/specs/a.yaml", fission("../../.ssh", "*"));
    for line in ["spec version apply --specdir app/specs", "import --specdir app/specs"] {
        assert!(refused(&world, line).contains("is outside of the folder"), "{line}");
    }

    let mut env = CliEnv::new();
    env.set("MILEPOST_DATA", env.work_dir().join("repo/data").to_str().unwrap());
    fs::create_dir_all(env.work_dir().join("repo/.git")).unwrap();
    let world = World::in_env(env, &[]);
    for (folder, src) in
        [("repo/app", "../data/admin.token"), ("repo/app", ".."), ("repo", "data/admin.token"), ("repo", "data")]
    {
        world.env.write_file(&format!("{folder}/milepost.yaml"), manifest(src));
        let said = refused(&world, &format!("deploy {folder}"));
        assert!(said.contains("is outside of the folder") || said.contains("is in the data folder"), "{src}: {said}");
    }
}

#[test]
fn the_manifest_is_not_deployed() {
    let world = World::new();
    let manifest = |word: &str| {
        format!(
            "app: shop\nfunctions:\n  f: {{ env: python, src: ., entrypoint: main.main, vars: {{ WORD: {word} }} }}\nstatic:\n  - {{ src: ., path: / }}\n"
        )
    };
    world.env.write_file("main.py", "def main():\n    return 'hi'\n");
    world.env.write_file("milepost.yaml", manifest("one"));
    world.ok("deploy");
    world.env.write_file("milepost.yaml", manifest("two"));
    let plan = world.json("deploy");
    let action = |kind: &str| {
        let versions = plan["versions"].as_array().unwrap();
        versions.iter().find(|unit| unit["kind"] == kind).unwrap()["action"].as_str().unwrap().to_owned()
    };
    assert_eq!((action("function").as_str(), action("package").as_str()), ("updated", "unchanged"), "{plan:#}");
    assert_eq!(action("static"), "unchanged");
    let spec = world.json("static get /");
    assert!(!spec.to_string().contains("milepost.yaml"), "{spec:#}");
    let out = world.env.work_dir().join("out.zip");
    world.ok(&format!("package version download --name f-pkg --version latest --to {}", out.display()));
    let zip = zip::ZipArchive::new(std::fs::File::open(out).unwrap()).unwrap();
    assert_eq!(zip.file_names().map(|name| name.unwrap().into_owned()).collect::<Vec<_>>(), ["main.py"]);
}

#[test]
fn specs_are_not_deployed() {
    let world = World::new();
    world.env.write_file("app/main.py", "def main():\n    return 'hi'\n");
    world.env.write_file("app/specs/a.yaml", fission(".", "**"));
    world.ok("spec version apply --specdir app/specs");
    world.env.write_file("app/specs/b.yaml", "# a comment\n");
    let said = world.run("spec version apply --specdir app/specs");
    assert!(said.succeeded() && said.stdout.contains("Everything up to date"), "{}{}", said.stdout, said.stderr);
    world.ok("import --specdir app/specs");
    assert!(world.ok("deploy app").contains("Everything up to date"));
}
