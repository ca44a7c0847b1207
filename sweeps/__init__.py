"""Sweeps that somebody asks for, one YAML each: python -m runner -m +sweeps=smoke"""
