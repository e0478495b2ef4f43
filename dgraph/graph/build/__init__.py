"""From raw edge lists to a rank's partition: cleaning, shuffling, sorting, numbering."""
