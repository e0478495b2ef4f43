"""Edge lists to a rank's part of a graph: cleaning, shuffling, sorting, numbering."""
