"""The words of a build's passages: what is written with a passage, and in how many passages each term stands."""
