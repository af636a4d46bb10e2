"""Scripts that run under the job's interpreter. They use the standard library alone and print JSON."""
