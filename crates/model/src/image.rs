//! Names of container images.

/// The name by which an image is looked up on nodes: `:latest` is added where there is neither tag
/// nor digest. Registries are not filled in.
#[must_use]
pub fn normalized_image(name: &str) -> String {
    let after_path = name.rfind('/').map_or(name, |slash| &name[slash..]);
    if after_path.contains(':') { name.to_owned() } else { format!("{name}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let rows = [
            ("nginx", "nginx:latest"),
            ("nginx:1", "nginx:1"),
            ("gcr.io/x", "gcr.io/x:latest"),
            ("host:5000/x", "host:5000/x:latest"),
            ("host:5000/x:2", "host:5000/x:2"),
            ("x@sha256:01", "x@sha256:01"),
            ("", ":latest"),
        ];
        for (name, expected) in rows {
            assert_eq!(normalized_image(name), expected);
        }
    }
}
