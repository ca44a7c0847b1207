"""Speed and memory on real data: python -m benchmarks [NAME ...] [--data PATH] [--scale full|small] [--json FILE].

Speed is always a ratio of two things timed in the same run. Peak memory is measured in a separate process.
"""
