"""Webhooks: programs elsewhere wake an agent or hand it a payload, which is data and never more than that.

A request proves itself (proof, signature), stays within limits (throttle), becomes text by a template (template), is marked
as coming from outside (outside), counts once (once), and goes to the session that the configuration names (door).
"""
