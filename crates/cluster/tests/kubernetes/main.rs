//! A real cluster, as the adapter sees it.
