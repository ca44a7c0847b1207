"""Histories, which select the answers shown as earlier turns of a conversation."""
