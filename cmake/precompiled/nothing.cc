// A library needs a source; this one only carries a precompiled header.
