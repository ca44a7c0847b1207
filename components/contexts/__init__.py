"""Context builders, which select the hits for the prompt."""
