"""What every pipeline stage of a job holds in GPU memory at its peak."""
