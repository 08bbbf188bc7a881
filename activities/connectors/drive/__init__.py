"""Google Drive as a source: credentials, grants, content, and the errors of all of them in one vocabulary."""
