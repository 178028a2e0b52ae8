"""Reading: a marked script becomes blocks, names are resolved, the network and its training are found."""
