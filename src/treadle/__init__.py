"""Treadle, a workflow database: exactly one worker holds a job, it can prove it, and nothing can write around it."""
