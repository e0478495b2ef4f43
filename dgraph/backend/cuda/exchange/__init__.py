"""Exchange between GPUs: message layout, packing, mailboxes, overlap with compute."""
