//! The target acme-edge as a plugin in a shared library.

strait_plugin_sdk::export_plugin!(acme_edge_target::FACTORY);
